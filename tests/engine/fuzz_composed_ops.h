// Ops of random programs that the oracle composes of others', and ops of whose values it knows
// nothing: other tests have these, here all modes must give the same bits.
#ifndef SLUICE_TESTS_ENGINE_FUZZ_COMPOSED_OPS_H_
#define SLUICE_TESTS_ENGINE_FUZZ_COMPOSED_OPS_H_

#include <algorithm>

#include <sluice/linalg.h>
#include <sluice/map.h>

#include "tests/engine/fuzz_program.h"

namespace sluice::test {
namespace fuzz {

// What is not known makes all that follows unknown, so there is little of it.
inline bool is_seldom(G& g) { return g.chance(40); }

inline bool make_logcumsumexp(G& g, Step& step) {
  if (!operand(g, step, [](const NdArray& x) {
        return x.rank() > 0 && is_float(x.dtype) && x.numel() <= 500;
      })) {
    return false;
  }
  step.axes = {g.any_axis(g.value(step.args[0]))};
  return true;
}
// A running sum is rounded once for each element.
inline NdArray compute_logcumsumexp(const Step& step, const Arrays& x) {
  NdArray y = oracle::scan("logsumexp", x[0], step.axes[0]);
  const Real count = x[0].shape[oracle::normalize_axis(step.axes[0], x[0].rank())];
  Real greatest = 1;
  for (const Real value : x[0].values) {
    if (std::isfinite(value)) greatest = std::max(greatest, std::fabs(value));
  }
  const Real step_error = 8 * oracle::ulp(1, x[0].dtype) * (greatest + std::log(count + 1));
  for (Real& error : y.errors) error += count * step_error;
  return y;
}

inline bool make_topk(G& g, Step& step) {
  if (!operand(g, step, [](const NdArray& x) { return x.rank() > 0; })) return false;
  const NdArray& x = g.value(step.args[0]);
  step.axes = {g.any_axis(x)};
  step.ints = {
      g.pick(0, std::min<int64_t>(x.shape[oracle::normalize_axis(step.axes[0], x.rank())], 9))};
  return true;
}

inline bool make_diff(G& g, Step& step) {
  if (!operand(g, step, [](const NdArray& x) { return x.rank() > 0 && x.dtype != DType::kBool; })) {
    return false;
  }
  step.axes = {g.any_axis(g.value(step.args[0]))};
  return true;
}
inline NdArray compute_diff(const Step& step, const Arrays& x) {
  const int axis = oracle::normalize_axis(step.axes[0], x[0].rank());
  const int64_t extent = x[0].shape[axis], most = std::max<int64_t>(extent, 1);
  return oracle::binary("sub", oracle::slice(x[0], axis, 1, most, 1),
                        oracle::slice(x[0], axis, 0, most - 1, 1));
}

// The place of each element in another vector, put in order first.
inline bool make_searchsorted(G& g, Step& step) {
  if (!operand(g, step, [](const NdArray& x) { return x.dtype != DType::kBool; })) {
    return false;
  }
  step.flag = g.chance(50);
  step.args.push_back(g.add_leaf(Shape{g.pick(0, 200)}, g.value(step.args[0]).dtype));
  return true;
}
inline NdArray compute_searchsorted(const Step& step, const Arrays& x) {
  const auto is_less = [](Real a, Real b) {
    return std::isnan(b) ? !std::isnan(a) : a < b;  // NaN is last
  };
  NdArray result = oracle::full(x[0].shape, 0, DType::kInt64);
  for (size_t i = 0; i < x[0].values.size(); ++i) {
    const Real value = x[0].values[i];
    if (x[0].errors[i] != 0) result.errors[i] = oracle::kUnknown;
    for (const Real element : x[1].values) {
      result.values[i] += step.flag ? !is_less(value, element) : is_less(element, value);
    }
  }
  return result;
}

// ints: the window's extent and the stride.
inline bool make_pool(G& g, Step& step) {
  const bool is_max = step.op == "max_pool1d";
  if (!operand(g, step, [&](const NdArray& x) {
        return x.rank() == 3 && x.dtype != DType::kBool && (is_max || is_float(x.dtype)) &&
               x.numel() > 0 && x.numel() <= 2000;
      })) {
    return false;
  }
  const int64_t length = g.value(step.args[0]).shape[2];
  step.ints = {g.pick(1, std::min<int64_t>(length, 4)), g.pick(1, 3)};
  return true;
}
inline NdArray compute_pool(const Step& step, const Arrays& x) {
  const int64_t window = step.ints[0], stride = step.ints[1];
  const int64_t places = (x[0].shape[2] - window) / stride + 1;
  std::vector<NdArray> parts;
  for (int64_t i = 0; i < window; ++i) {
    parts.push_back(oracle::slice(x[0], 2, i, i + (places - 1) * stride + 1, stride));
  }
  return oracle::reduce(step.op == "max_pool1d" ? "max" : "mean", oracle::stack(parts, 3), {3},
                        /*keepdims=*/false);
}

inline bool make_map(G& g, Step& step) {
  if (!operand(g, step, [](const NdArray& x) { return is_float(x.dtype); })) return false;
  const NdArray& x = g.value(step.args[0]);
  const std::optional<int> other = g.value_where(
      [&](const NdArray& y) { return y.dtype == x.dtype && G::fits(x.shape, y.shape); });
  if (!other) return false;
  step.args.push_back(*other);
  return true;
}
inline NdArray compute_map(const Step&, const Arrays& x) {
  const NdArray product = oracle::binary("mul", x[0], oracle::unary("tanh", x[1]));
  return oracle::binary("add", product, oracle::full(Shape{}, 1, x[0].dtype));
}

inline bool make_norm(G& g, Step& step) {
  return is_seldom(g) && operand(g, step, [](const NdArray& x) {
           return x.rank() > 0 && is_float(x.dtype) && x.numel() > 0;
         });
}

inline bool make_attention(G& g, Step& step) {
  if (!is_seldom(g) || !operand(g, step, [](const NdArray& x) {
        return x.rank() == 3 && is_float(x.dtype) && x.numel() > 0 && x.numel() <= 2000;
      })) {
    return false;
  }
  const Shape q = g.value(step.args[0]).shape;
  const DType dtype = g.value(step.args[0]).dtype;
  const int64_t keys = g.pick(1, 20);
  step.flag = g.chance(30);
  step.args.push_back(g.add_leaf(Shape{q[0], keys, q[2]}, dtype));
  step.args.push_back(g.add_leaf(Shape{q[0], keys, g.pick(1, 9)}, dtype));
  return true;
}

// The elements of the last two axes where column = row + offset (ints[0]).
inline bool make_diagonal(G& g, Step& step) {
  if (!operand(g, step, [](const NdArray& x) {
        return x.rank() >= 2 && x.dtype != DType::kBool && x.numel() > 0 &&
               std::min(x.shape[x.rank() - 2], x.shape.back()) <= 8;
      })) {
    return false;
  }
  const Shape& shape = g.value(step.args[0]).shape;
  step.ints = {g.pick(1 - std::min<int64_t>(shape[shape.rank() - 2], 3),
                      std::min<int64_t>(shape.back(), 3) - 1)};
  return true;
}
inline NdArray compute_diagonal(const Step& step, const Arrays& x) {
  const int64_t rows = x[0].shape[x[0].rank() - 2], columns = x[0].shape.back();
  std::vector<NdArray> parts;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t j = i + step.ints[0];
    if (j < 0 || j >= columns) continue;
    parts.push_back(oracle::slice(oracle::slice(x[0], -2, i, i + 1, 1), -1, j, j + 1, 1));
  }
  const NdArray joined = oracle::concat(parts, -1);
  return oracle::squeeze(joined, {-2});
}

// By a leaf, over an axis of extent 3.
inline bool make_cross(G& g, Step& step) {
  if (!operand(g, step, [](const NdArray& x) {
        return x.dtype != DType::kBool && x.numel() <= kMostElements / 6 &&
               std::find(x.shape.begin(), x.shape.end(), 3) != x.shape.end();
      })) {
    return false;
  }
  const Shape shape = g.value(step.args[0]).shape;
  const auto at = std::find(shape.begin(), shape.end(), 3) - shape.begin();
  step.axes = {static_cast<int>(at) - shape.rank()};
  std::vector<int64_t> dims(shape.begin() + (g.chance(40) ? at : 0), shape.end());
  step.args.push_back(
      g.add_leaf(Shape(std::span<const int64_t>(dims)), g.value(step.args[0]).dtype));
  return true;
}
inline NdArray compute_cross(const Step& step, const Arrays& x) {
  const int axis = step.axes[0];
  const auto product = [&](int64_t i, int64_t j) {
    return oracle::binary("mul", oracle::slice(x[0], axis, i, i + 1, 1),
                          oracle::slice(x[1], axis, j, j + 1, 1));
  };
  std::vector<NdArray> parts;
  for (int64_t k = 0; k < 3; ++k) {
    const int64_t i = (k + 1) % 3, j = (k + 2) % 3;
    parts.push_back(oracle::binary("sub", product(i, j), product(j, i)));
  }
  return oracle::concat(parts, axis);
}

// ints: the order, or kInfinity or its opposite.
constexpr int64_t kInfinity = 9;
inline bool make_vector_norm(G& g, Step& step) {
  if (!operand(g, step, [](const NdArray& x) { return is_float(x.dtype) && x.numel() > 0; })) {
    return false;
  }
  constexpr int64_t kOrders[] = {0, 1, kInfinity, -kInfinity};
  step.axes = g.some_axes(g.value(step.args[0]));
  step.ints = {kOrders[g.pick(0, 3)]};
  step.flag = g.chance(40);
  return true;
}
inline Tensor run_vector_norm(const Step& step, Tensors&& t) {
  const int64_t order = step.ints[0];
  const double infinity = order > 0 ? INFINITY : -INFINITY;
  return linalg::vector_norm(std::move(t[0]), step.axes, step.flag,
                             std::abs(order) == kInfinity ? infinity : static_cast<double>(order));
}
inline NdArray compute_vector_norm(const Step& step, const Arrays& x) {
  const int64_t order = step.ints[0];
  NdArray sizes = oracle::unary("abs", x[0]);
  if (order == 0) {
    const NdArray zero = oracle::full(Shape{}, 0, x[0].dtype);
    sizes = oracle::cast(oracle::binary("not_equal", sizes, zero), x[0].dtype);
  }
  const char* op = order == kInfinity ? "max" : order == -kInfinity ? "min" : "sum";
  return oracle::reduce(op, sizes, step.axes, step.flag);
}

// A leaf whose diagonal is heavy: no matrix is singular, and that of the lower triangle's elements
// is positive definite.
inline int add_heavy_matrix(G& g, int64_t n, DType dtype) {
  const int id = g.add_leaf(Shape{n, n}, dtype);
  NdArray& matrix = g.program.back().leaf;
  for (int64_t i = 0; i < n * n; ++i) {
    matrix.values[i] = g.pick(-8, 8) + (i % (n + 1) == 0 ? Real(16 * n) : 0);
  }
  g.values[id] = matrix;
  return id;
}

// ints: which.
inline bool make_factor(G& g, Step& step) {
  if (!is_seldom(g)) return false;
  step.args = {add_heavy_matrix(g, g.pick(1, 20), g.chance(60) ? kFloat32 : kFloat64)};
  step.ints = {g.pick(0, 5)};
  return true;
}
inline Tensor run_factor(const Step& step, Tensors&& t) {
  switch (step.ints[0]) {
    case 0: return linalg::inv(std::move(t[0]));
    case 1: return linalg::det(std::move(t[0]));
    case 2: return linalg::cholesky(std::move(t[0]));
    case 3: return linalg::qr(std::move(t[0])).r;
    case 4: return linalg::svdvals(std::move(t[0]));
    default: return linalg::eigvalsh(std::move(t[0]));
  }
}
inline NdArray compute_factor(const Step& step, const Arrays& x) {
  const int64_t n = x[0].shape[0];
  const int64_t which = step.ints[0];
  return unknown(x[0].dtype, which == 1 ? Shape{} : which > 3 ? Shape{n} : Shape{n, n});
}

inline bool make_solve(G& g, Step& step) {
  if (!is_seldom(g) || !operand(g, step, [](const NdArray& x) {
        return x.rank() == 2 && (x.dtype == DType::kFloat32 || x.dtype == DType::kFloat64) &&
               x.shape[0] > 0 && x.shape[0] <= 40;
      })) {
    return false;
  }
  const int64_t n = g.value(step.args[0]).shape[0];
  step.args.push_back(add_heavy_matrix(g, n, g.value(step.args[0]).dtype));
  return true;
}

}  // namespace fuzz

inline void append_composed_rows(std::vector<OpRow>* rows) {
  using namespace fuzz;
  rows->push_back(
      {"logcumsumexp", make_logcumsumexp,
       [](const Step& s, Tensors&& t) { return logcumsumexp(std::move(t[0]), s.axes[0]); },
       compute_logcumsumexp});
  rows->push_back(
      {"topk", make_topk,
       [](const Step& s, Tensors&& t) { return topk(std::move(t[0]), s.ints[0], s.axes[0]).first; },
       [](const Step& s, const Arrays& x) {
         return oracle::slice(oracle::sort(x[0], s.axes[0], /*descending=*/true), s.axes[0], 0,
                              s.ints[0], 1);
       }});
  rows->push_back({"diff", make_diff,
                   [](const Step& s, Tensors&& t) { return diff(std::move(t[0]), 1, s.axes[0]); },
                   compute_diff});
  rows->push_back({"searchsorted", make_searchsorted,
                   [](const Step& s, Tensors&& t) {
                     return searchsorted(sort(std::move(t[1])), std::move(t[0]), s.flag);
                   },
                   compute_searchsorted});
  rows->push_back({"max_pool1d", make_pool,
                   [](const Step& s, Tensors&& t) {
                     return max_pool1d(std::move(t[0]), s.ints[0], {.stride = s.ints[1]});
                   },
                   compute_pool});
  rows->push_back({"avg_pool1d", make_pool,
                   [](const Step& s, Tensors&& t) {
                     return avg_pool1d(std::move(t[0]), s.ints[0], {.stride = s.ints[1]});
                   },
                   compute_pool});
  rows->push_back({"map", make_map,
                   [](const Step&, Tensors&& t) {
                     return map({t[0], t[1]}, [](auto x, auto y) { return x * tanh(y) + 1; });
                   },
                   compute_map});
  rows->push_back(
      {"layer_norm", make_norm,
       [](const Step&, Tensors&& t) { return layer_norm(std::move(t[0]), Tensor(), Tensor()); },
       [](const Step&, const Arrays& x) { return unknown(x[0].dtype, x[0].shape); }});
  rows->push_back({"rms_norm", make_norm,
                   [](const Step&, Tensors&& t) { return rms_norm(std::move(t[0]), Tensor()); },
                   [](const Step&, const Arrays& x) { return unknown(x[0].dtype, x[0].shape); }});
  rows->push_back({"scaled_dot_product_attention", make_attention,
                   [](const Step& s, Tensors&& t) {
                     return scaled_dot_product_attention(std::move(t[0]), std::move(t[1]),
                                                         std::move(t[2]), {}, s.flag);
                   },
                   [](const Step&, const Arrays& x) {
                     return unknown(x[0].dtype, Shape{x[0].shape[0], x[0].shape[1], x[2].shape[2]});
                   }});
  rows->push_back(
      {"diagonal", make_diagonal,
       [](const Step& s, Tensors&& t) { return linalg::diagonal(std::move(t[0]), s.ints[0]); },
       compute_diagonal});
  rows->push_back(
      {"trace", make_diagonal,
       [](const Step& s, Tensors&& t) { return linalg::trace(std::move(t[0]), s.ints[0]); },
       [](const Step& s, const Arrays& x) {
         return oracle::reduce("sum", compute_diagonal(s, x), {-1}, /*keepdims=*/false);
       }});
  rows->push_back({"cross", make_cross,
                   [](const Step& s, Tensors&& t) {
                     return linalg::cross(std::move(t[0]), std::move(t[1]), s.axes[0]);
                   },
                   compute_cross});
  rows->push_back({"vector_norm", make_vector_norm, run_vector_norm, compute_vector_norm});
  rows->push_back({"factor", make_factor, run_factor, compute_factor});
  rows->push_back(
      {"solve", make_solve,
       [](const Step&, Tensors&& t) { return linalg::solve(std::move(t[1]), std::move(t[0])); },
       [](const Step&, const Arrays& x) { return unknown(x[0].dtype, x[0].shape); }});
}

}  // namespace sluice::test

#endif  // SLUICE_TESTS_ENGINE_FUZZ_COMPOSED_OPS_H_
