// The ops of random programs: how each is made up, run by the engine, and computed by the oracle.
#ifndef SLUICE_TESTS_ENGINE_FUZZ_OPS_H_
#define SLUICE_TESTS_ENGINE_FUZZ_OPS_H_

#include <algorithm>

#include "tests/engine/fuzz_composed_ops.h"
#include "tests/engine/fuzz_program.h"

namespace sluice::test {
namespace fuzz {

inline bool has_axes(const NdArray& x) { return x.rank() > 0; }
inline bool has_axes_and_is_small(const NdArray& x) {
  return x.rank() > 0 && x.numel() <= kMostElements / 6;
}

template <typename Op>
const Op& find_op(const std::vector<Op>& ops, const std::string& name) {
  return *std::find_if(ops.begin(), ops.end(), [&](const Op& op) { return op.name == name; });
}

inline bool make_unary(G& g, Step& step) {
  return operand(
      g, step, [&](const NdArray& x) { return oracle::types_of(step.op, {x.dtype}).has_value(); });
}

inline bool make_binary(G& g, Step& step) {
  if (!operand(g, step, [](const NdArray&) { return true; })) return false;
  const std::optional<int> other = g.partner(step.args[0]);
  step.args.push_back(*other);
  if (g.chance(50)) std::swap(step.args[0], step.args[1]);
  return step.op == "where" || step.op == "gcd" || step.op == "lcm" ||
         oracle::types_of(step.op, {g.value(step.args[0]).dtype, g.value(step.args[1]).dtype})
             .has_value();
}

inline bool make_ternary(G& g, Step& step) {
  if (!make_binary(g, step)) return false;
  const NdArray& a = g.value(step.args[0]);
  const NdArray& b = g.value(step.args[1]);
  const int c = g.any_value();
  const Shape shape = oracle::broadcast_shapes(a.shape, b.shape);
  step.args.push_back(G::fits(shape, g.value(c).shape) ? c : g.add_leaf(g.partner_shape(shape)));
  const std::vector<DType> dtypes = {a.dtype, b.dtype, g.value(step.args[2]).dtype};
  return step.op == "where" || oracle::types_of(step.op, dtypes).has_value();
}

template <Tensor (*kOp)(const Operand&, const Operand&, const Operand&)>
Tensor run_ternary(const Step&, Tensors&& t) {
  return kOp(std::move(t[0]), std::move(t[1]), std::move(t[2]));
}
inline NdArray compute_ternary(const Step& step, const Arrays& x) {
  return oracle::ternary(step.op, x[0], x[1], x[2]);
}

// reduce: every one but argmax and argmin takes several axes.
inline bool make_reduction(G& g, Step& step) {
  if (!operand(g, step, [&](const NdArray& x) {
        const bool needs_elements = step.op == "max" || step.op == "min" ||
                                    step.op.starts_with("arg") || step.op == "logsumexp";
        return !(needs_elements && x.numel() == 0);
      })) {
    return false;
  }
  const NdArray& x = g.value(step.args[0]);
  if (step.op.starts_with("arg")) {
    if (x.rank() > 0 && g.chance(80)) step.axes = {g.any_axis(x)};
  } else {
    step.axes = g.some_axes(x);
  }
  step.flag = g.chance(40);
  return true;
}
template <Tensor (*kReduce)(Arg, const Axes&, bool)>
Tensor run_reduction(const Step& step, Tensors&& t) {
  return kReduce(std::move(t[0]), step.axes, step.flag);
}
inline NdArray compute_reduction(const Step& step, const Arrays& x) {
  return oracle::reduce(step.op, x[0], step.axes, step.flag);
}

// The same elements in another shape: axes joined, split, or inserted.
inline Shape other_shape(G& g, const NdArray& x) {
  std::vector<int64_t> dims(x.shape.begin(), x.shape.end());
  for (int64_t n = g.pick(1, 3); n > 0; --n) {
    if (dims.size() > 1 && g.chance(50)) {
      const int64_t i = g.pick(0, dims.size() - 2);
      dims[i] *= dims[i + 1];
      dims.erase(dims.begin() + i + 1);
    } else if (!dims.empty() && dims.size() < 5) {
      const int64_t i = g.pick(0, dims.size() - 1);
      const int64_t factor = g.pick(1, 4);
      if (dims[i] == 0 || dims[i] % factor != 0) continue;
      dims[i] /= factor;
      dims.insert(dims.begin() + i, factor);
    } else if (dims.empty()) {
      dims.push_back(1);
    }
  }
  return Shape(std::span<const int64_t>(dims));
}

inline std::vector<std::pair<int64_t, int64_t>> widths_of(const Step& step) {
  std::vector<std::pair<int64_t, int64_t>> widths;
  for (size_t i = 0; i < step.ints.size(); i += 2) {
    widths.emplace_back(step.ints[i], step.ints[i + 1]);
  }
  return widths;
}

inline bool make_axis_and_int(G& g, Step& step, int64_t low, int64_t high) {
  if (!operand(g, step, has_axes_and_is_small)) return false;
  step.axes = {g.any_axis(g.value(step.args[0]))};
  step.ints = {g.pick(low, high)};
  return true;
}

inline bool make_triangle(G& g, Step& step) {
  step.ints = {g.pick(-3, 3)};
  return operand(g, step, [](const NdArray& x) { return x.rank() >= 2; });
}

// Rolls, pads and flips, one after another: a kind, an axis and an amount each.
inline bool make_moves(G& g, Step& step) {
  if (!operand(g, step, [](const NdArray& x) { return x.rank() > 0 && x.numel() <= 500; })) {
    return false;
  }
  const int rank = g.value(step.args[0]).rank();
  step.axes = {rank};
  for (int64_t n = g.pick(2, 5); n > 0; --n) {
    const int64_t kind = g.pick(0, 3);
    step.ints.insert(step.ints.end(), {kind, g.pick(0, rank - 1), g.pick(0, kind == 2 ? 2 : 20)});
  }
  return true;
}
template <typename T, typename Roll, typename Pad, typename Flip>
T moved(const Step& step, T x, Roll roll, Pad pad, Flip flip) {
  for (size_t i = 0; i < step.ints.size(); i += 3) {
    const int axis = static_cast<int>(step.ints[i + 1]);
    const int64_t amount = step.ints[i + 2];
    if (step.ints[i] <= 1) {
      x = roll(x, amount, axis);
    } else if (step.ints[i] == 2) {
      std::vector<std::pair<int64_t, int64_t>> widths(step.axes[0]);
      widths[axis] = {amount, 1};
      x = pad(x, widths);
    } else {
      x = flip(x, axis);
    }
  }
  return x;
}

inline bool make_soft(G& g, Step& step) {
  if (!operand(g, step, [](const NdArray& x) { return x.rank() > 0 && x.numel() > 0; })) {
    return false;
  }
  step.axes = {g.any_axis(g.value(step.args[0]))};
  return true;
}

inline bool make_join(G& g, Step& step) {
  const bool is_stack = step.op == "stack";
  if (!operand(g, step, [&](const NdArray& x) {
        return is_stack ? x.rank() < 5 && x.numel() <= 4000 : has_axes_and_is_small(x);
      })) {
    return false;
  }
  const NdArray x = g.value(step.args[0]);
  const int axis = is_stack ? static_cast<int>(g.pick(0, x.rank())) : g.any_axis(x);
  step.axes = {axis};
  for (int64_t n = g.pick(0, 2); n > 0; --n) {
    const int other = g.any_value();
    if (g.value(other).shape == x.shape) {
      step.args.push_back(other);
      continue;
    }
    std::vector<int64_t> dims(x.shape.begin(), x.shape.end());
    if (!is_stack) dims[oracle::normalize_axis(axis, x.rank())] = g.pick(0, 5);
    step.args.push_back(g.add_leaf(Shape(std::span<const int64_t>(dims)),
                                   g.chance(70) ? std::optional(x.dtype) : std::nullopt));
  }
  return true;
}

inline bool make_slice(G& g, Step& step) {
  if (!operand(g, step, has_axes)) return false;
  const NdArray& x = g.value(step.args[0]);
  const int axis = g.any_axis(x);
  const int64_t extent = x.shape[oracle::normalize_axis(axis, x.rank())];
  const int64_t step_size = g.chance(60) ? 1 : g.chance(50) ? g.pick(2, 3) : -g.pick(1, 3);
  step.axes = {axis};
  step.ints = {g.pick(-extent - 2, extent + 2), g.pick(-extent - 2, extent + 2), step_size};
  if (g.chance(50)) step.ints[step_size > 0 ? 0 : 1] = step_size > 0 ? 0 : -extent - 1;
  return true;
}

inline bool make_scan(G& g, Step& step) {
  // The oracle reduces as many elements again for each.
  if (!operand(g, step, [](const NdArray& x) { return x.rank() > 0 && x.numel() <= 500; })) {
    return false;
  }
  step.axes = {g.any_axis(g.value(step.args[0]))};
  return true;
}

inline bool make_sort(G& g, Step& step) {
  step.flag = g.chance(50);
  if (!operand(g, step, [](const NdArray& x) { return x.rank() > 0; })) return false;
  step.axes = {g.any_axis(g.value(step.args[0]))};
  return true;
}

inline bool make_matmul(G& g, Step& step) {
  const bool ok = operand(g, step, [](const NdArray& x) {
    return x.rank() >= 1 && x.rank() <= 3 && x.dtype != kBool && x.numel() <= 3000;
  });
  if (!ok) return false;
  const NdArray& x = g.value(step.args[0]);
  const int64_t k = x.shape.back();
  const DType dtype = x.dtype;
  const std::optional<int> other = g.value_where([&](const NdArray& y) {
    return y.dtype == dtype && y.rank() == 2 && y.shape[0] == k && y.numel() <= 3000;
  });
  Shape shape{k, g.pick(1, 12)};
  if (g.chance(15))
    shape = Shape{k};
  else if (x.rank() == 3 && g.chance(40))
    shape = Shape{x.shape[0], k, g.pick(1, 8)};
  step.args.push_back(other ? *other : g.add_leaf(shape, dtype));
  return g.value(step.args[0]).rank() < 3 || g.value(step.args[0]).shape[0] > 0;
}

// conv1d or conv2d, by a leaf. ints: stride, padding, dilation.
inline bool make_convolution(G& g, Step& step) {
  const int rank = step.op == "conv1d" ? 3 : 4;
  if (!operand(g, step, [&](const NdArray& x) {
        return x.rank() == rank && is_float(x.dtype) && x.numel() > 0 && x.numel() <= 2000;
      })) {
    return false;
  }
  const NdArray& x = g.value(step.args[0]);
  step.ints = {g.pick(1, 2), g.pick(0, 2), g.pick(1, 2)};
  std::vector<int64_t> dims{g.pick(1, 12), x.shape[1]};
  for (int axis = 2; axis < rank; ++axis) {
    const int64_t most = (x.shape[axis] + 2 * step.ints[1] - 1) / step.ints[2] + 1;
    dims.push_back(g.pick(1, std::min<int64_t>(most, 3)));
  }
  step.args.push_back(g.add_leaf(Shape(std::span<const int64_t>(dims)), x.dtype));
  return true;
}
// One product: filters by what lies under them.
inline NdArray compute_convolution(const Step& step, const Arrays& x) {
  const int64_t stride = step.ints[0], padding = step.ints[1], dilation = step.ints[2];
  const Shape& images = x[0].shape;
  const Shape& filters = x[1].shape;
  const int rank = images.rank();
  std::vector<std::pair<int64_t, int64_t>> widths(rank, {padding, padding});
  widths[0] = widths[1] = {0, 0};
  std::vector<NdArray> parts{oracle::pad(x[0], widths, 0)};
  std::vector<int64_t> result{images[0], filters[0]};
  int64_t window = 1, places = 1;
  for (int axis = 2; axis < rank; ++axis) {
    const int64_t reach = dilation * (filters[axis] - 1) + 1;
    const int64_t count = (images[axis] + 2 * padding - reach) / stride + 1;
    std::vector<NdArray> cut;
    for (const NdArray& part : parts) {
      for (int64_t i = 0; i < filters[axis]; ++i) {
        const int64_t begin = i * dilation, end = begin + (count - 1) * stride + 1;
        cut.push_back(oracle::slice(part, axis, begin, end, stride));
      }
    }
    parts = std::move(cut);
    result.push_back(count);
    window *= filters[axis];
    places *= count;
  }
  const int64_t terms = images[1] * window;
  return oracle::reshape(
      oracle::matmul(oracle::reshape(x[1], {filters[0], terms}),
                     oracle::reshape(oracle::stack(parts, 2), {images[0], terms, places})),
      Shape(std::span<const int64_t>(result)));
}

inline bool make_take(G& g, Step& step) {
  const bool along = step.op == "take_along_axis";
  if (!operand(g, step, [](const NdArray& x) {
        return x.rank() > 0 && x.rank() < 4 && x.numel() > 0 && x.numel() <= 2000;
      })) {
    return false;
  }
  const NdArray& x = g.value(step.args[0]);
  const int axis = g.any_axis(x);
  const int64_t extent = x.shape[oracle::normalize_axis(axis, x.rank())];
  Shape shape{g.pick(0, 6)};
  if (along) {
    std::vector<int64_t> dims(x.shape.begin(), x.shape.end());
    dims[oracle::normalize_axis(axis, x.rank())] = g.pick(0, 6);
    shape = Shape(std::span<const int64_t>(dims));
  } else if (g.chance(40)) {
    shape = g.chance(30) ? Shape{} : Shape{g.pick(1, 3), g.pick(1, 3)};
  }
  step.axes = {axis};
  step.args.push_back(g.add_indices(shape, extent));
  return true;
}

// Updates of the indices' shape, or of one for all of them.
inline bool make_scatter(G& g, Step& step) {
  if (!operand(g, step, [](const NdArray& x) {
        return x.dtype != DType::kBool && x.rank() > 0 && x.rank() < 4 && x.numel() > 0 &&
               x.numel() <= 2000;
      })) {
    return false;
  }
  const NdArray& x = g.value(step.args[0]);
  const int axis = g.any_axis(x);
  const int at = oracle::normalize_axis(axis, x.rank());
  const int64_t extent = x.shape[at];
  std::vector<int64_t> dims(x.shape.begin(), x.shape.end());
  dims[at] = g.pick(1, 6);
  std::vector<int64_t> updates = dims;
  for (int k = at + 1; k < x.rank(); ++k) {
    if (g.chance(60)) dims[k] = 1;
  }
  const DType dtype = x.dtype;
  step.axes = {axis};
  step.args.push_back(g.add_indices(Shape(std::span<const int64_t>(dims)), extent));
  step.args.push_back(g.add_leaf(Shape(std::span<const int64_t>(updates)), dtype));
  return true;
}

inline bool make_random(G& g, Step& step) {
  step.shape = g.any_shape();
  step.dtype = step.op == "randint"
                   ? DType::kInt64
                   : static_cast<DType>(g.pick(int(DType::kFloat16), kNumDTypes - 1));
  return true;
}
inline NdArray compute_random(const Step& step, const Arrays&) {
  return unknown(step.dtype, step.shape);
}

inline bool make_full(G& g, Step& step) {
  step.shape = g.any_shape();
  step.dtype = g.any_dtype();
  step.ints = {step.dtype == DType::kBool ? g.pick(0, 1) : g.pick(0, 9)};
  return true;
}

}  // namespace fuzz

inline const std::vector<OpRow>& op_table() {
  using namespace fuzz;
  static const std::vector<OpRow> table = [] {
    std::vector<OpRow> rows;
    for (const UnaryOp& op : unary_ops()) {
      if (is_operator(op.name)) continue;
      rows.push_back({op.name, make_unary,
                      [](const Step& s, Tensors&& t) {
                        const Tensor x = std::move(t[0]);
                        return find_op(unary_ops(), s.op).f(x);
                      },
                      [](const Step& s, const Arrays& x) { return oracle::unary(s.op, x[0]); }});
    }
    for (const BinaryOp& op : binary_ops()) {
      if (is_operator(op.name)) continue;
      rows.push_back(
          {op.name, make_binary,
           [](const Step& s, Tensors&& t) { return find_op(binary_ops(), s.op).f(t[0], t[1]); },
           [](const Step& s, const Arrays& x) { return oracle::binary(s.op, x[0], x[1]); }});
    }
#define SLUICE_ROW_1(name)
#define SLUICE_ROW_2(name)
#define SLUICE_ROW_3(name) \
  rows.push_back({#name, make_ternary, run_ternary<&sluice::name>, compute_ternary});
#define SLUICE_POINTWISE_OP(id, name, arity, ...) SLUICE_ROW_##arity(name)
#define SLUICE_REDUCTION_OP(id, name, ...) \
  rows.push_back({#name, make_reduction, run_reduction<&sluice::name>, compute_reduction});
#define SLUICE_ARG_REDUCTION_OP SLUICE_REDUCTION_OP
#include "fusion/ir/ops.def"
#undef SLUICE_ROW_1
#undef SLUICE_ROW_2
#undef SLUICE_ROW_3
    rows.push_back({"astype",
                    [](G& g, Step& s) {
                      s.dtype = static_cast<DType>(g.pick(0, kNumDTypes - 1));
                      return operand(g, s, [](const NdArray&) { return true; });
                    },
                    [](const Step& s, Tensors&& t) { return astype(std::move(t[0]), s.dtype); },
                    [](const Step& s, const Arrays& x) { return oracle::cast(x[0], s.dtype); }});

#define SLUICE_REDUCTION_ROW(name) \
  rows.push_back({#name, make_reduction, run_reduction<&sluice::name>, compute_reduction});
    SLUICE_REDUCTION_ROW(mean)
    SLUICE_REDUCTION_ROW(logsumexp)
    SLUICE_REDUCTION_ROW(norm)
#undef SLUICE_REDUCTION_ROW
    rows.push_back({"var", make_reduction,
                    [](const Step& s, Tensors&& t) { return var(std::move(t[0]), s.axes, s.flag); },
                    compute_reduction});
    rows.push_back(
        {"std", make_reduction,
         [](const Step& s, Tensors&& t) { return sluice::std(std::move(t[0]), s.axes, s.flag); },
         compute_reduction});
    rows.push_back(
        {"softmax", make_soft,
         [](const Step& s, Tensors&& t) { return softmax(std::move(t[0]), s.axes[0]); },
         [](const Step& s, const Arrays& x) { return oracle::softmax(x[0], s.axes[0]); }});
    rows.push_back(
        {"log_softmax", make_soft,
         [](const Step& s, Tensors&& t) { return log_softmax(std::move(t[0]), s.axes[0]); },
         [](const Step& s, const Arrays& x) { return oracle::log_softmax(x[0], s.axes[0]); }});
    rows.push_back(
        {"cumsum", make_scan,
         [](const Step& s, Tensors&& t) { return cumsum(std::move(t[0]), s.axes[0]); },
         [](const Step& s, const Arrays& x) { return oracle::scan("sum", x[0], s.axes[0]); }});
    rows.push_back(
        {"cumprod", make_scan,
         [](const Step& s, Tensors&& t) { return cumprod(std::move(t[0]), s.axes[0]); },
         [](const Step& s, const Arrays& x) { return oracle::scan("prod", x[0], s.axes[0]); }});
    rows.push_back(
        {"cummax", make_scan,
         [](const Step& s, Tensors&& t) { return cummax(std::move(t[0]), s.axes[0]); },
         [](const Step& s, const Arrays& x) { return oracle::scan("max", x[0], s.axes[0]); }});
    rows.push_back(
        {"cummin", make_scan,
         [](const Step& s, Tensors&& t) { return cummin(std::move(t[0]), s.axes[0]); },
         [](const Step& s, const Arrays& x) { return oracle::scan("min", x[0], s.axes[0]); }});
    rows.push_back(
        {"sort", make_sort,
         [](const Step& s, Tensors&& t) { return sort(std::move(t[0]), s.axes[0], s.flag); },
         [](const Step& s, const Arrays& x) { return oracle::sort(x[0], s.axes[0], s.flag); }});
    rows.push_back(
        {"argsort", make_sort,
         [](const Step& s, Tensors&& t) { return argsort(std::move(t[0]), s.axes[0], s.flag); },
         [](const Step& s, const Arrays& x) { return oracle::argsort(x[0], s.axes[0], s.flag); }});
    rows.push_back(
        {"matmul", make_matmul,
         [](const Step&, Tensors&& t) { return matmul(std::move(t[0]), std::move(t[1])); },
         [](const Step&, const Arrays& x) { return oracle::matmul(x[0], x[1]); }});
    rows.push_back(
        {"conv1d", make_convolution,
         [](const Step& s, Tensors&& t) {
           return conv1d(std::move(t[0]), std::move(t[1]), {s.ints[0], s.ints[1], s.ints[2]});
         },
         compute_convolution});
    rows.push_back(
        {"conv2d", make_convolution,
         [](const Step& s, Tensors&& t) {
           return conv2d(std::move(t[0]), std::move(t[1]), {s.ints[0], s.ints[1], s.ints[2]});
         },
         compute_convolution});

    rows.push_back({"reshape",
                    [](G& g, Step& s) {
                      if (!operand(g, s, [](const NdArray&) { return true; })) return false;
                      s.shape = other_shape(g, g.value(s.args[0]));
                      return true;
                    },
                    [](const Step& s, Tensors&& t) { return reshape(std::move(t[0]), s.shape); },
                    [](const Step& s, const Arrays& x) { return oracle::reshape(x[0], s.shape); }});
    rows.push_back({"permute",
                    [](G& g, Step& s) {
                      if (!operand(g, s, has_axes)) return false;
                      for (int i = 0; i < g.value(s.args[0]).rank(); ++i) s.axes.push_back(i);
                      std::shuffle(s.axes.begin(), s.axes.end(), g.rng);
                      return true;
                    },
                    [](const Step& s, Tensors&& t) { return permute(std::move(t[0]), s.axes); },
                    [](const Step& s, const Arrays& x) { return oracle::permute(x[0], s.axes); }});
    rows.push_back(
        {"transpose",
         [](G& g, Step& s) { return operand(g, s, [](const NdArray&) { return true; }); },
         [](const Step&, Tensors&& t) { return transpose(std::move(t[0])); },
         [](const Step&, const Arrays& x) { return oracle::transpose(x[0]); }});
    rows.push_back(
        {"swapaxes",
         [](G& g, Step& s) {
           if (!operand(g, s, has_axes)) return false;
           s.axes = {g.any_axis(g.value(s.args[0])), g.any_axis(g.value(s.args[0]))};
           return true;
         },
         [](const Step& s, Tensors&& t) { return swapaxes(std::move(t[0]), s.axes[0], s.axes[1]); },
         [](const Step& s, const Arrays& x) {
           return oracle::swapaxes(x[0], s.axes[0], s.axes[1]);
         }});
    rows.push_back({"slice", make_slice,
                    [](const Step& s, Tensors&& t) {
                      return slice(std::move(t[0]), s.axes[0], s.ints[0], s.ints[1], s.ints[2]);
                    },
                    [](const Step& s, const Arrays& x) {
                      return oracle::slice(x[0], s.axes[0], s.ints[0], s.ints[1], s.ints[2]);
                    }});
    rows.push_back({"squeeze",
                    [](G& g, Step& s) {
                      return operand(g, s, [](const NdArray& x) {
                        return std::find(x.shape.begin(), x.shape.end(), 1) != x.shape.end();
                      });
                    },
                    [](const Step&, Tensors&& t) { return squeeze(std::move(t[0])); },
                    [](const Step&, const Arrays& x) { return oracle::squeeze(x[0], {}); }});
    rows.push_back(
        {"expand_dims",
         [](G& g, Step& s) {
           if (!operand(g, s, [](const NdArray& x) { return x.rank() < 5; })) return false;
           const int rank = g.value(s.args[0]).rank();
           s.axes = {static_cast<int>(g.pick(-rank - 1, rank))};
           return true;
         },
         [](const Step& s, Tensors&& t) { return expand_dims(std::move(t[0]), s.axes[0]); },
         [](const Step& s, const Arrays& x) { return oracle::expand_dims(x[0], s.axes[0]); }});
    rows.push_back(
        {"broadcast_to",
         [](G& g, Step& s) {
           if (!operand(g, s, [](const NdArray& x) { return x.rank() < 5 && x.numel() <= 500; })) {
             return false;
           }
           const NdArray& x = g.value(s.args[0]);
           std::vector<int64_t> dims(x.shape.begin(), x.shape.end());
           for (int64_t& dim : dims) {
             if (dim == 1) dim = g.pick(0, 5);
           }
           if (g.chance(50)) dims.insert(dims.begin(), g.pick(1, 4));
           s.shape = Shape(std::span<const int64_t>(dims));
           return s.shape.numel() <= kMostElements;
         },
         [](const Step& s, Tensors&& t) { return broadcast_to(std::move(t[0]), s.shape); },
         [](const Step& s, const Arrays& x) { return oracle::broadcast_to(x[0], s.shape); }});
    rows.push_back({"flip",
                    [](G& g, Step& s) {
                      if (!operand(g, s, [](const NdArray&) { return true; })) return false;
                      s.axes = g.some_axes(g.value(s.args[0]));
                      return true;
                    },
                    [](const Step& s, Tensors&& t) { return flip(std::move(t[0]), s.axes); },
                    [](const Step& s, const Arrays& x) { return oracle::flip(x[0], s.axes); }});
    rows.push_back({"concat", make_join,
                    [](const Step& s, Tensors&& t) { return concat(t, s.axes[0]); },
                    [](const Step& s, const Arrays& x) { return oracle::concat(x, s.axes[0]); }});
    rows.push_back({"stack", make_join,
                    [](const Step& s, Tensors&& t) { return stack(t, s.axes[0]); },
                    [](const Step& s, const Arrays& x) { return oracle::stack(x, s.axes[0]); }});
    rows.push_back({"split",
                    [](G& g, Step& s) {
                      if (!operand(g, s, has_axes)) return false;
                      const NdArray& x = g.value(s.args[0]);
                      s.axes = {g.any_axis(x)};
                      const int64_t extent = x.shape[oracle::normalize_axis(s.axes[0], x.rank())];
                      const int64_t sections = g.pick(1, 4);
                      if (extent == 0 || extent % sections != 0) return false;
                      s.ints = {sections, g.pick(0, sections - 1)};
                      return true;
                    },
                    [](const Step& s, Tensors&& t) {
                      return split(t[0], static_cast<int>(s.ints[0]), s.axes[0])[s.ints[1]];
                    },
                    [](const Step& s, const Arrays& x) {
                      const int axis = oracle::normalize_axis(s.axes[0], x[0].rank());
                      const int64_t part = x[0].shape[axis] / s.ints[0];
                      return oracle::slice(x[0], axis, part * s.ints[1], part * (s.ints[1] + 1), 1);
                    }});
    rows.push_back(
        {"pad",
         [](G& g, Step& s) {
           if (!operand(g, s, [](const NdArray& x) {
                 return x.rank() > 0 && x.rank() < 4 && x.numel() <= 800;
               })) {
             return false;
           }
           for (int i = 0; i < 2 * g.value(s.args[0]).rank(); ++i) {
             s.ints.push_back(g.pick(0, 2));
           }
           s.flag = g.chance(50);  // pads with 1
           return true;
         },
         [](const Step& s, Tensors&& t) { return pad(std::move(t[0]), widths_of(s), s.flag); },
         [](const Step& s, const Arrays& x) { return oracle::pad(x[0], widths_of(s), s.flag); }});
    rows.push_back(
        {"tile",
         [](G& g, Step& s) {
           if (!operand(g, s, [](const NdArray& x) { return x.rank() < 4 && x.numel() <= 500; })) {
             return false;
           }
           for (int64_t n = g.pick(1, 3); n > 0; --n) s.ints.push_back(g.pick(0, 3));
           return true;
         },
         [](const Step& s, Tensors&& t) { return tile(std::move(t[0]), s.ints); },
         [](const Step& s, const Arrays& x) { return oracle::tile(x[0], s.ints); }});
    rows.push_back(
        {"repeat", [](G& g, Step& s) { return make_axis_and_int(g, s, 0, 3); },
         [](const Step& s, Tensors&& t) { return repeat(std::move(t[0]), s.ints[0], s.axes[0]); },
         [](const Step& s, const Arrays& x) {
           return oracle::repeat(x[0], s.ints[0], s.axes[0]);
         }});
    rows.push_back(
        {"roll", [](G& g, Step& s) { return make_axis_and_int(g, s, -50, 50); },
         [](const Step& s, Tensors&& t) { return roll(std::move(t[0]), s.ints[0], s.axes[0]); },
         [](const Step& s, const Arrays& x) { return oracle::roll(x[0], s.ints[0], s.axes[0]); }});
    rows.push_back(
        {"moves", make_moves,
         [](const Step& s, Tensors&& t) {
           return moved<Tensor>(
               s, std::move(t[0]),
               [](const Tensor& x, int64_t n, int axis) { return roll(x, n, axis); },
               [](const Tensor& x, const auto& widths) { return pad(x, widths, 1); },
               [](const Tensor& x, int axis) { return flip(x, axis); });
         },
         [](const Step& s, const Arrays& x) {
           return moved<NdArray>(
               s, x[0], oracle::roll,
               [](const NdArray& a, const auto& widths) { return oracle::pad(a, widths, 1); },
               [](const NdArray& a, int axis) { return oracle::flip(a, {axis}); });
         }});
    rows.push_back({"tril", make_triangle,
                    [](const Step& s, Tensors&& t) { return tril(std::move(t[0]), s.ints[0]); },
                    [](const Step& s, const Arrays& x) { return oracle::tril(x[0], s.ints[0]); }});
    rows.push_back({"triu", make_triangle,
                    [](const Step& s, Tensors&& t) { return triu(std::move(t[0]), s.ints[0]); },
                    [](const Step& s, const Arrays& x) { return oracle::triu(x[0], s.ints[0]); }});
    rows.push_back(
        {"take", make_take,
         [](const Step& s, Tensors&& t) {
           return take(std::move(t[0]), std::move(t[1]), s.axes[0]);
         },
         [](const Step& s, const Arrays& x) { return oracle::take(x[0], x[1], s.axes[0]); }});
    rows.push_back({"take_along_axis", make_take,
                    [](const Step& s, Tensors&& t) {
                      return take_along_axis(std::move(t[0]), std::move(t[1]), s.axes[0]);
                    },
                    [](const Step& s, const Arrays& x) {
                      return oracle::take_along_axis(x[0], x[1], s.axes[0]);
                    }});
    for (const char* const name : {"scatter", "scatter_max", "scatter_min"}) {
      rows.push_back({name, make_scatter,
                      [](const Step& s, Tensors&& t) {
                        return call(s.op, t, {{"axis", int64_t{s.axes[0]}}})[0];
                      },
                      [](const Step& s, const Arrays& x) {
                        return oracle::scatter(s.op, x[0], x[1], x[2], s.axes[0]);
                      }});
    }
    for (const char* const name : {"gcd", "lcm"}) {
      rows.push_back(
          {name,
           [](G& g, Step& s) {
             if (!make_binary(g, s)) return false;
             return is_integer(promote(g.value(s.args[0]).dtype, g.value(s.args[1]).dtype));
           },
           [](const Step& s, Tensors&& t) { return call(s.op, t)[0]; },
           [](const Step& s, const Arrays& x) { return oracle::divisor(s.op, x[0], x[1]); }});
    }
    rows.push_back({"scatter_add", make_scatter,
                    [](const Step& s, Tensors&& t) {
                      return scatter_add(std::move(t[0]), std::move(t[1]), std::move(t[2]),
                                         s.axes[0]);
                    },
                    [](const Step& s, const Arrays& x) {
                      return oracle::scatter_add(x[0], x[1], x[2], s.axes[0]);
                    }});
    rows.push_back(
        {"one_hot",
         [](G& g, Step& s) {
           s.ints = {g.pick(1, 8)};
           s.dtype = g.any_dtype();
           s.args = {g.add_indices(Shape{g.pick(0, 12)}, s.ints[0])};
           // Negative indices are hot nowhere or counted from the end: not settled.
           return std::none_of(g.value(s.args[0]).values.begin(), g.value(s.args[0]).values.end(),
                               [](Real i) { return i < 0; });
         },
         [](const Step& s, Tensors&& t) { return one_hot(std::move(t[0]), s.ints[0], s.dtype); },
         [](const Step& s, const Arrays& x) { return oracle::one_hot(x[0], s.ints[0], s.dtype); }});

    rows.push_back({"rand", make_random,
                    [](const Step& s, Tensors&&) { return rand(s.shape, s.dtype); },
                    compute_random});
    rows.push_back({"randn", make_random,
                    [](const Step& s, Tensors&&) { return randn(s.shape, s.dtype); },
                    compute_random});
    rows.push_back({"randint", make_random,
                    [](const Step& s, Tensors&&) { return randint(-5, 1000, s.shape); },
                    compute_random});
    rows.push_back({"full", make_full,
                    [](const Step& s, Tensors&&) { return full(s.shape, s.ints[0], s.dtype); },
                    [](const Step& s, const Arrays&) {
                      return oracle::full(s.shape, static_cast<Real>(s.ints[0]), s.dtype);
                    }});
    rows.push_back(
        {"arange",
         [](G& g, Step& s) {
           s.dtype = g.chance(50) ? DType::kFloat32 : DType::kInt32;
           s.ints = {g.pick(-20, 20), g.pick(-20, 40), g.pick(1, 3)};
           return true;
         },
         [](const Step& s, Tensors&&) { return arange(s.ints[0], s.ints[1], s.ints[2], s.dtype); },
         [](const Step& s, const Arrays&) {
           return oracle::arange(s.ints[0], s.ints[1], s.ints[2], s.dtype);
         }});
    rows.push_back(
        {"eye",
         [](G& g, Step& s) {
           s.dtype = g.any_dtype();
           s.ints = {g.pick(0, 9), g.pick(0, 9)};
           return true;
         },
         [](const Step& s, Tensors&&) { return eye(s.ints[0], s.ints[1], s.dtype); },
         [](const Step& s, const Arrays&) { return oracle::eye(s.ints[0], s.ints[1], s.dtype); }});
    append_composed_rows(&rows);
    // The ops that programs are made of are drawn more often.
    for (const char* name : {"add", "mul", "sub", "maximum", "less", "astype", "sum", "max",
                             "matmul", "transpose", "slice"}) {
      rows.push_back(find_op(rows, name));
    }
    return rows;
  }();
  return table;
}

}  // namespace sluice::test

#endif  // SLUICE_TESTS_ENGINE_FUZZ_OPS_H_
