// Programs of several views one after another, which peers copy in between or at the end.
#include <utility>

#include "bench/cliffs/cliffs.h"

namespace sluice::bench {
namespace {

Tensor flat(const Tensor& x) { return reshape(x, {-1}); }

// Blocks of 2 x 2 pixels as channels.
Tensor space_to_depth(const Given& in) {
  const Tensor x = in[0];
  const int64_t n = x.shape(0), c = x.shape(1), h = x.shape(2) / 2, w = x.shape(3) / 2;
  return reshape(reshape(x, {n, c, h, 2, w, 2}).permute({0, 1, 3, 5, 2, 4}), {n, 4 * c, h, w});
}

// Patches of k x k pixels, a row each, as for a vision transformer.
Tensor patches(const Given& in) {
  const Tensor x = in[0];
  const int64_t k = in.argument(0), c = x.shape(1), h = x.shape(2) / k, w = x.shape(3) / k;
  return reshape(reshape(x, {-1, c, h, k, w, k}).permute({0, 2, 4, 3, 5, 1}),
                 {-1, h * w, k * k * c});
}

Tensor rotated_by_slices(const Given& in) {
  const Tensor x = in[0];
  return concat({x.slice(-1, 5, x.shape(-1)), x.slice(-1, 0, 5)}, -1);
}

Tensor rotary(const Given& in) {
  const Tensor x = in[0];
  const int64_t half = x.shape(-1) / 2;
  const Tensor turned = concat({-x.slice(-1, half, 2 * half), x.slice(-1, 0, half)}, -1);
  return x * in[1] + turned * in[2];
}

}  // namespace

void add_view_programs() {
  add_program("flip", [](const Given& in) { return flat(in[0].flip(in.axes())); });
  add_program("permuted", [](const Given& in) { return flat(in[0].permute(in.axes())); });
  add_program("every_nth", [](const Given& in) {
    return flat(in[0].slice(-1, in.argument(1), in[0].shape(-1), in.argument(0)));
  });
  add_program("flip_of_transposed_slice", [](const Given& in) {
    const Tensor x = in[0];
    return flat(x.slice(-1, 1, x.shape(-1) - 1).swapaxes(-1, -2).flip({-1}));
  });
  add_program("roll_of_pad", [](const Given& in) {
    return roll(pad(in[0], {{1, 1}, {1, 1}}), 3, 1);
  });
  add_program("pad_of_flip", [](const Given& in) {
    return pad(in[0].flip({-1}), {{2, 1}, {3, 4}});
  });
  add_program("concat_of_transposed", [](const Given& in) {
    return concat({in[0].swapaxes(-1, -2), in[1]}, static_cast<int>(in.argument(0)));
  });
  add_program("reshape_of_transposed", [](const Given& in) {
    return reshape(in[0].swapaxes(-1, -2), {-1, in.argument(0)}) + 1;
  });
  add_program("broadcast_then_flat", [](const Given& in) {
    const Tensor x = in[0];
    return flat(expand_dims(x, 1).broadcast_to({x.shape(0), in.argument(0), x.shape(1)}));
  });
  add_program("interleaved", [](const Given& in) { return flat(stack({in[0], in[1]}, -1)); });
  add_program("space_to_depth", space_to_depth);
  add_program("patches", patches);
  add_program("rotated_by_slices", rotated_by_slices);
  add_program("rotary", rotary);
  add_program("pad_by", [](const Given& in) {
    return pad(in[0], {{0, 0}, {in.argument(0), in.argument(1)}});
  });
}

}  // namespace sluice::bench
