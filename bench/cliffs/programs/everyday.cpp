// What users write: images, statistics, losses, simulations. Short programs of several ops each.
#include <utility>

#include "bench/cliffs/cliffs.h"

namespace sluice::bench {
namespace {

// The nine neighbours of each element that has all of them, from the first row on.
Tensors neighbours(const Tensor& x) {
  const int64_t rows = x.shape(-2) - 2, columns = x.shape(-1) - 2;
  Tensors all;
  for (int64_t dy = 0; dy < 3; ++dy) {
    for (int64_t dx = 0; dx < 3; ++dx) {
      all.push_back(x.slice(-2, dy, dy + rows).slice(-1, dx, dx + columns));
    }
  }
  return all;
}

Tensor box_blur(const Given& in) {
  Tensors parts = neighbours(in[0]);
  Tensor total = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) total = std::move(total) + parts[i];
  return total;
}

Tensor sobel(const Given& in) {
  const Tensors p = neighbours(in[0]);
  const Tensor gx = (p[2] + 2 * p[5] + p[8]) - (p[0] + 2 * p[3] + p[6]);
  const Tensor gy = (p[6] + 2 * p[7] + p[8]) - (p[0] + 2 * p[1] + p[2]);
  return sqrt(gx * gx + gy * gy);
}

Tensor dilated(const Given& in) {
  Tensors parts = neighbours(in[0]);
  Tensor greatest = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) greatest = maximum(std::move(greatest), parts[i]);
  return greatest;
}

// Halves of both of the last two extents, as windows of 2 by 2.
Tensor windows(const Tensor& x) { return reshape(x, {-1, x.shape(-2) / 2, 2, x.shape(-1) / 2, 2}); }

Tensor rotated(const Given& in) {
  const Tensor x = in[0].slice(-1, 0, 1), y = in[0].slice(-1, 1, 2);
  return concat({0.8f * x - 0.6f * y, 0.6f * x + 0.8f * y}, -1);
}

Tensor polynomial(const Given& in) {
  Tensor value = in[0] * 0.5f + 1.f;
  for (int i = 0; i < 9; ++i) value = std::move(value) * in[0] + 0.25f;
  return value;
}

Tensor flattened_lookup(const Given& in) {
  return take(reshape(in[0], {-1}), in[1] * in[0].shape(-1) + in[2], 0);
}

}  // namespace

void add_everyday_programs() {
  add_program("gray", [](const Given& in) { return sum(astype(in[0], kFloat32) * in[1], {-1}); });
  add_program("normalise_pixels",
              [](const Given& in) { return (astype(in[0], kFloat32) - in[1]) / in[2]; });
  add_program("pixels_to_planes", [](const Given& in) {
    return astype(reshape(in[0].permute({0, 3, 1, 2}), {-1}), kFloat32) * (1 / 255.f);
  });
  add_program("crop_and_flip", [](const Given& in) {
    const Tensor x = in[0];
    const Tensor inside = x.slice(-2, 2, x.shape(-2) - 2).slice(-1, 2, x.shape(-1) - 2);
    return reshape(inside.flip({-1}), {-1});
  });
  add_program("box_blur", box_blur);
  add_program("sobel", sobel);
  add_program("dilated", dilated);
  add_program("max_of_windows", [](const Given& in) { return max(windows(in[0]), {2, 4}); });
  add_program("mean_of_windows", [](const Given& in) { return mean(windows(in[0]), {2, 4}); });
  add_program("doubled", [](const Given& in) { return repeat(repeat(in[0], 2, -2), 2, -1); });
  add_program("standardise", [](const Given& in) {
    return (in[0] - mean(in[0], in.axes(), true)) / std(in[0], in.axes(), true);
  });
  add_program("between_extremes", [](const Given& in) {
    const Tensor low = min(in[0], in.axes(), true);
    return (in[0] - low) / (max(in[0], in.axes(), true) - low);
  });
  add_program("unit_rows", [](const Given& in) { return in[0] / norm(in[0], {-1}, true); });
  add_program("masked_mean", [](const Given& in) {
    return sum(where(in[1], in[0], 0.f), in.axes()) / sum(astype(in[1], kFloat32), in.axes());
  });
  add_program("count_nonzero", [](const Given& in) { return count_nonzero(in[0], in.axes()); });
  add_program("count_equal", [](const Given& in) { return sum(in[0] == in[1], in.axes()); });
  add_program("any_greater", [](const Given& in) { return any(in[0] > in[1], in.axes()); });
  add_program("greatest_magnitude", [](const Given& in) { return max(abs(in[0]), in.axes()); });
  add_program("extremes", [](const Given& in) {
    return Tensors{min(in[0], in.axes()), max(in[0], in.axes())};
  });
  add_program("absolute_distances", [](const Given& in) {
    return sum(abs(expand_dims(in[0], 1) - expand_dims(in[1], 0)), {2});
  });
  add_program("logistic_loss", [](const Given& in) {
    return mean(relu(in[0]) - in[0] * in[1] + log1p(exp(-abs(in[0]))));
  });
  add_program("causal_softmax", [](const Given& in) {
    return softmax(where(tril(ones(in[0].shape(), kBool)), in[0], -1e9f));
  });
  add_program("diff",
              [](const Given& in) { return diff(in[0], 1, static_cast<int>(in.argument(0))); });
  add_program("diagonal", [](const Given& in) { return diagonal(in[0]) + 1; });
  add_program("outer", [](const Given& in) { return outer(in[0], in[1]); });
  add_program("kron", [](const Given& in) { return kron(in[0], in[1]); });
  add_program("bincount", [](const Given& in) { return bincount(in[0], {}, in.argument(0)); });
  add_program("rotated", rotated);
  add_program("polynomial", polynomial);
  add_program("flattened_lookup", flattened_lookup);
  add_program("sum_of_taken", [](const Given& in) {
    return sum(reshape(take(in[0], in[1], 0), {-1, in.argument(0), in[0].shape(-1)}), {1});
  });
  add_program("bits_of_bytes", [](const Given& in) {
    const Tensor x = in[0];
    return (bitwise_right_shift(x, 1) & 0x55) + (x & 0x55);
  });
}

}  // namespace sluice::bench
