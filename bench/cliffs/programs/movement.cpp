// Programs that move elements: views made contiguous, gathers, joins; and random numbers.
#include <utility>

#include "bench/cliffs/cliffs.h"

namespace sluice::bench {
namespace {

int axis_of(const Given& in) { return static_cast<int>(in.argument(0)); }

Tensors all_inputs(const Given& in) {
  Tensors all;
  for (size_t i = 0; i < in.size(); ++i) all.push_back(in[i]);
  return all;
}

Shape shape_of_arguments(const Given& in, size_t count) {
  std::vector<int64_t> extents;
  for (size_t i = 0; i < count; ++i) extents.push_back(in.argument(i));
  return Shape(extents);
}

}  // namespace

void add_movement_programs() {
  // A view that nobody reads stays a view; its elements in row-major order are a copy.
  add_program("copy", [](const Given& in) { return reshape(in[0], {-1}); });
  add_program("take", [](const Given& in) { return take(in[0], in[1], axis_of(in)); });
  add_program("take_along",
              [](const Given& in) { return take_along_axis(in[0], in[1], axis_of(in)); });
  add_program("take_sum", [](const Given& in) { return sum(take(in[0], in[1], 0), {0}); });
  add_program("scatter_add", [](const Given& in) { return in[0].add_at({in[1]}, in[2]); });
  add_program("one_hot", [](const Given& in) { return one_hot(in[0], in.argument(0)); });
  add_program("concat", [](const Given& in) { return concat(all_inputs(in), axis_of(in)); });
  add_program("stack", [](const Given& in) { return stack(all_inputs(in), axis_of(in)); });
  add_program("concat_many", [](const Given& in) {
    return concat(split(in[0], static_cast<int>(in.argument(0)), 0), 1);
  });
  // x[..., start::step] = value, of the other axes all.
  add_program("set_strided", [](const Given& in) {
    const int64_t start = in.argument(0), step = in.argument(1);
    const std::vector<Index> at = {ellipsis, Slice{start, {}, step}};
    if (in.size() == 1) return in[0].set(at, 1);
    return in[0].set(at, in[1]);
  });
  add_program("pad", [](const Given& in) { return pad(in[0], {{1, 1}, {1, 1}}); });
  add_program("pad_images", [](const Given& in) {
    return pad(in[0], {{0, 0}, {0, 0}, {1, 1}, {1, 1}});
  });
  add_program("roll", [](const Given& in) { return roll(in[0], in.argument(1), axis_of(in)); });
  add_program("roll_both", [](const Given& in) {
    return roll(roll(in[0], in.argument(0), 0), in.argument(1), 1);
  });
  add_program("tile", [](const Given& in) {
    return tile(in[0], {in.argument(0), in.argument(1)});
  });
  add_program("repeat", [](const Given& in) { return repeat(in[0], in.argument(1), axis_of(in)); });
  add_program("tril", [](const Given& in) { return tril(in[0]); });
  add_program("rand", [](const Given& in) { return rand(shape_of_arguments(in, 1)); });
  add_program("rand_f64",
              [](const Given& in) { return rand(shape_of_arguments(in, 1), kFloat64); });
  add_program("rand_f16",
              [](const Given& in) { return rand(shape_of_arguments(in, 1), kFloat16); });
  add_program("randn", [](const Given& in) { return randn(shape_of_arguments(in, 1)); });
  add_program("randn_f64",
              [](const Given& in) { return randn(shape_of_arguments(in, 1), kFloat64); });
  add_program("randint", [](const Given& in) {
    return randint(in.argument(1), in.argument(2), shape_of_arguments(in, 1));
  });
}

}  // namespace sluice::bench
