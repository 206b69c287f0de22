#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "tests/oracle/ops.h"

namespace sluice::oracle {
namespace {

// The elements that one element of a reduction's result combines.
struct Row {
  std::vector<Real> values;
  std::vector<Real> errors;

  bool any_unknown() const {
    return std::any_of(errors.begin(), errors.end(), [](Real e) { return e == kUnknown; });
  }
  bool all_finite() const {
    return std::all_of(values.begin(), values.end(), [](Real v) { return std::isfinite(v); });
  }
  bool any_nan() const {
    return std::any_of(values.begin(), values.end(), [](Real v) { return std::isnan(v); });
  }
};

struct Result {
  Real value = 0;
  Real error = 0;
};

// Half the relative spacing of a dtype's numbers.
Real epsilon(DType dtype) { return std::ldexp(Real(1), -format_of(dtype).digits); }
Real largest(DType dtype) { return format_of(dtype).max; }

// `value` rounded to `dtype`, with `error` and what rounding adds; unknown where it may overflow.
Result rounded(Real value, Real error, DType dtype) {
  const Real limit = largest(dtype);
  if (std::isnan(value) || std::isinf(value)) return {value, error == 0 ? 0 : kUnknown};
  if (std::isnan(error)) return {value, kUnknown};
  const bool close = std::fabs(value) - error < limit * 1.001L;
  if (std::fabs(value) + error > limit * 0.999L && close)
    return {round_float(value, dtype), kUnknown};
  return {round_float(value, dtype), error + ulp(value, dtype)};
}

// The roundings that docs/math.md promises for a reduction of n elements, at most.
Real roundings_of(size_t n) {
  return n <= 1 ? Real(0) : std::min(static_cast<Real>(n), 4 * std::log2(static_cast<Real>(n)));
}

// `roundings`: how many each element may have passed, at most.
Result sum(const Row& row, DType dtype, Real roundings) {
  Real total = 0, magnitude = 0, error = 0;
  __int128 exact = 0;
  for (size_t i = 0; i < row.values.size(); ++i) {
    if (!is_float(dtype)) exact += static_cast<__int128>(row.values[i]);
    total += row.values[i];
    if (std::isfinite(row.values[i])) magnitude += std::fabs(row.values[i]);
    error += row.errors[i];
  }
  if (!is_float(dtype)) return {wrap_integer(exact, dtype), error > 0 ? kUnknown : 0};
  if (row.any_unknown()) return {total, kUnknown};
  if (row.values.empty()) return {0, smallest(dtype)};
  // Where finite elements alone may overflow, the order decides.
  const DType accumulator = compute_type(dtype);
  if (magnitude > largest(accumulator) * 0.99L && !row.any_nan()) return {total, kUnknown};
  if (!row.all_finite()) return {total, error == 0 ? 0 : kUnknown};
  error += roundings * magnitude * epsilon(accumulator) * 1.01L;
  return rounded(total, error + smallest(dtype), dtype);
}

Result prod(const Row& row, DType dtype) {
  if (!is_float(dtype)) {
    unsigned __int128 exact = 1;
    Real error = 0;
    for (size_t i = 0; i < row.values.size(); ++i) {
      exact *= static_cast<unsigned __int128>(static_cast<__int128>(row.values[i]));
      error += row.errors[i];
    }
    return {wrap_integer(static_cast<__int128>(exact), dtype), error > 0 ? kUnknown : 0};
  }
  Real product = 1, relative = 0, up = 0, down = 0;
  for (size_t i = 0; i < row.values.size(); ++i) {
    const Real value = row.values[i];
    product *= value;
    if (row.errors[i] != 0) relative += row.errors[i] / std::fabs(value);
    if (value == 0 || !std::isfinite(value)) continue;
    up += std::max(Real(0), std::log2(std::fabs(value)));
    down += std::min(Real(0), std::log2(std::fabs(value)));
  }
  // A partial product that overflows or loses bits makes the order matter.
  const FloatFormat format = format_of(compute_type(dtype));
  const bool extreme = up > -format.min_exponent || down < format.min_exponent;
  if (row.any_unknown() || std::isnan(relative) || relative > 0.1L || (extreme && !row.any_nan())) {
    return {round_float(product, dtype), kUnknown};
  }
  if (!std::isfinite(product)) return {product, relative == 0 ? 0 : kUnknown};
  // Each product rounds what those before it gave, in whatever order: these errors add up.
  const auto roundings = static_cast<Real>(row.values.size());
  relative = relative * 1.25L + roundings * epsilon(compute_type(dtype)) * 1.01L;
  return rounded(product, std::fabs(product) * relative + smallest(dtype), dtype);
}

Result extreme(const Row& row, DType dtype, bool greatest) {
  Result best{row.values[0], 0};
  for (size_t i = 0; i < row.values.size(); ++i) {
    best.error = std::max(best.error, row.errors[i]);
    const Real value = row.values[i];
    if (std::isnan(best.value)) continue;
    if (std::isnan(value) || (greatest ? value > best.value : value < best.value)) {
      best.value = value;
    }
  }
  if (best.value == 0 && is_float(dtype)) best.error = std::max(best.error, smallest(dtype));
  return best;
}

Result arg_extreme(const Row& row, bool greatest) {
  const auto beats = [&](Real a, Real b) {
    if (std::isnan(b)) return false;
    return std::isnan(a) || (greatest ? a > b : a < b);
  };
  size_t best = 0;
  for (size_t i = 1; i < row.values.size(); ++i) {
    if (beats(row.values[i], row.values[best])) best = i;
  }
  Real error = 0;
  for (size_t i = 0; i < row.values.size(); ++i) {
    const Real slack = row.errors[i] + row.errors[best];
    if (i == best || slack == 0) continue;
    const bool apart = std::fabs(row.values[i] - row.values[best]) > slack;
    if (!apart && !(std::isnan(row.values[best]) && row.errors[i] != kUnknown)) error = kUnknown;
  }
  return {static_cast<Real>(best), error};
}

Result any_or_all(const Row& row, bool any) {
  Result result{any ? Real(0) : Real(1), 0};
  for (size_t i = 0; i < row.values.size(); ++i) {
    if (any && row.values[i] != 0) result.value = 1;
    if (!any && row.values[i] == 0) result.value = 0;
    // Next to zero, or of unknown value.
    if (row.errors[i] > 0 && !(row.errors[i] < std::fabs(row.values[i]))) result.error = kUnknown;
  }
  return result;
}

Result mean(const Row& row, DType dtype) {
  const Real n = static_cast<Real>(row.values.size());
  if (n == 0) return {std::numeric_limits<Real>::quiet_NaN(), 0};
  const Result total = sum(row, compute_type(dtype), roundings_of(row.values.size()));
  Real exact = 0;
  for (Real value : row.values) exact += value;
  if (!row.all_finite()) return {exact, total.error};
  return rounded(exact / n, total.error / n + std::fabs(exact / n) * 2 * epsilon(dtype), dtype);
}

Result variance(const Row& row, DType dtype, int ddof) {
  const Real n = static_cast<Real>(row.values.size());
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  if (row.any_unknown()) return {nan, kUnknown};
  if (n == 0 || !row.all_finite()) return {nan, n - ddof <= 0 ? kUnknown : 0};
  Real center = 0, greatest = 0, shift = 0;
  for (size_t i = 0; i < row.values.size(); ++i) {
    center += row.values[i] / n;
    greatest = std::max(greatest, std::fabs(row.values[i]));
    shift = std::max(shift, row.errors[i]);
  }
  const Real roundings = roundings_of(row.values.size());
  // How far each deviation from the mean may be off.
  const Real e = epsilon(dtype);
  const Real delta =
      2 * shift + (roundings * epsilon(compute_type(dtype)) + 4 * e) * greatest + smallest(dtype);
  Real squares = 0, error = 0;
  for (Real value : row.values) {
    const Real deviation = value - center;
    squares += deviation * deviation;
    error += 2 * std::fabs(deviation) * delta + delta * delta + 2 * e * deviation * deviation;
  }
  // Squares or sums that may overflow on the way.
  if (squares > largest(dtype) / 4 || greatest * n > largest(dtype) / 4) return {squares, kUnknown};
  error += squares * (roundings + 4) * epsilon(compute_type(dtype)) + n * smallest(dtype);
  const Real divisor = n - ddof;
  if (divisor <= 0) return {squares / divisor, kUnknown};
  return rounded(squares / divisor, error / divisor + 4 * e * squares / divisor, dtype);
}

Result square_root(const Result& x, DType dtype) {
  if (!std::isfinite(x.value) || x.error == kUnknown) return {std::sqrt(x.value), x.error};
  const Real root = std::sqrt(x.value);
  // |sqrt(v +- e) - sqrt(v)| <= min(sqrt(e), e / sqrt(v)).
  const Real error = x.error == 0 ? 0 : std::min(std::sqrt(x.error), x.error / root);
  return rounded(root, error, dtype);
}

Result norm(const Row& row, DType dtype) {
  Row squares = row;
  for (size_t i = 0; i < row.values.size(); ++i) {
    const Real v = row.values[i];
    squares.values[i] = v * v;
    squares.errors[i] = 2.5L * std::fabs(v) * row.errors[i] + row.errors[i] * row.errors[i];
    if (std::isnan(squares.errors[i])) squares.errors[i] = row.errors[i] == 0 ? 0 : kUnknown;
    if (row.errors[i] == kUnknown) squares.errors[i] = kUnknown;
    if (!std::isfinite(v)) continue;
    squares.errors[i] += 2 * epsilon(dtype) * v * v + smallest(dtype);
    if (v * v > largest(dtype) / 4) squares.errors[i] = kUnknown;
  }
  return square_root(sum(squares, dtype, roundings_of(row.values.size())), dtype);
}

// exp(x - max), its sum, and what the rounding of x - max does to that sum, relatively.
struct Exponentials {
  Real max = 0, sum = 0, relative = 0, greatest_error = 0;
};

Exponentials exponentials(const Row& row, DType dtype) {
  Exponentials result;
  result.max = -std::numeric_limits<Real>::infinity();
  for (size_t i = 0; i < row.values.size(); ++i) {
    result.max = std::max(result.max, row.values[i]);
    result.greatest_error = std::max(result.greatest_error, row.errors[i]);
  }
  const Real center = std::isinf(result.max) ? 0 : result.max;
  Real spread = 0;
  for (Real value : row.values) {
    const Real e = std::exp(value - center);
    result.sum += e;
    if (std::isfinite(value)) spread += e * std::fabs(value - center);
  }
  const Real n = static_cast<Real>(row.values.size());
  const Real e = epsilon(dtype);
  result.relative = 2 * result.greatest_error + 2 * e * spread / result.sum + 10 * e +
                    (roundings_of(row.values.size()) + 4) * epsilon(compute_type(dtype)) +
                    n * smallest(dtype);
  return result;
}

Result logsumexp(const Row& row, DType dtype) {
  const Real inf = std::numeric_limits<Real>::infinity();
  if (row.any_unknown()) return {0, kUnknown};
  if (row.any_nan()) return {std::numeric_limits<Real>::quiet_NaN(), 0};
  if (row.values.empty()) return {-inf, 0};
  const Exponentials e = exponentials(row, dtype);
  if (std::isinf(e.max)) return {e.max, e.greatest_error == 0 ? 0 : kUnknown};
  const Real result = e.max + std::log(e.sum);
  const Real error = e.relative + 4 * epsilon(dtype) * (std::fabs(e.max) + std::log(e.sum) + 1);
  return rounded(result, error, dtype);
}

// One row of softmax or of its logarithm.
std::vector<Result> soft(const Row& row, DType dtype, bool logarithm) {
  std::vector<Result> results(row.values.size());
  const Exponentials e = exponentials(row, dtype);
  const Real unit = epsilon(dtype);
  for (size_t i = 0; i < results.size(); ++i) {
    if (row.any_unknown()) {
      results[i].error = kUnknown;
      continue;
    }
    if (row.any_nan() || std::isinf(e.max)) {
      // NaN everywhere, but for a finite element beside an infinite maximum, which forms disagree
      // on.
      results[i].value = std::numeric_limits<Real>::quiet_NaN();
      results[i].error = row.any_nan() || row.values[i] == e.max ? 0 : kUnknown;
      continue;
    }
    const Real d = row.values[i] - e.max;
    if (std::isinf(d)) {
      results[i].value = logarithm ? d : 0;
      results[i].error = logarithm ? 0 : smallest(dtype);
    } else if (logarithm) {
      const Real error =
          e.relative + 4 * unit * (std::fabs(d) + std::log(e.sum) + 1) + 2 * e.greatest_error;
      results[i] = rounded(d - std::log(e.sum), error, dtype);
    } else {
      const Real log_value = d - std::log(e.sum), value = std::exp(log_value);
      const Real relative = e.relative + 2 * unit * std::fabs(d) + 12 * unit;
      // The operand's error is one of the exponent. It may be far above 1: where the value is 0
      // here, it may be 1 there.
      const Real error = std::min(Real{1}, std::exp(log_value + 1.25L * relative) - value);
      results[i] = rounded(value, error + 2 * smallest(dtype), dtype);
    }
  }
  return results;
}

Result reduce_row(const std::string& op, const Row& row, DType dtype, int ddof) {
  if (op == "sum") return sum(row, dtype, roundings_of(row.values.size()));
  if (op == "prod") return prod(row, dtype);
  if (op == "max") return extreme(row, dtype, true);
  if (op == "min") return extreme(row, dtype, false);
  if (op == "any") return any_or_all(row, true);
  if (op == "all") return any_or_all(row, false);
  if (op == "argmax") return arg_extreme(row, true);
  if (op == "argmin") return arg_extreme(row, false);
  if (op == "mean") return mean(row, dtype);
  if (op == "var") return variance(row, dtype, ddof);
  if (op == "std") return square_root(variance(row, dtype, ddof), dtype);
  if (op == "norm") return norm(row, dtype);
  if (op == "logsumexp") return logsumexp(row, dtype);
  throw std::logic_error("the oracle has no reduction " + op);
}

// The dtype operands are cast to, and the result's.
std::pair<DType, DType> reduction_types(const std::string& op, DType dtype) {
  if (op == "sum" || op == "prod") {
    if (is_float(dtype)) return {dtype, dtype};
    const DType wide = kind_of(dtype) == DTypeKind::kUnsigned ? DType::kUInt64 : DType::kInt64;
    return {wide, wide};
  }
  if (op == "max" || op == "min") return {dtype, dtype};
  if (op == "any" || op == "all") return {dtype, DType::kBool};
  if (op == "argmax" || op == "argmin") return {dtype, DType::kInt64};
  return {float_type(dtype), float_type(dtype)};
}

// Each row along the last axis replaced by f(row).
template <typename F>
NdArray map_rows(const NdArray& x, int axis, F f) {
  axis = normalize_axis(axis, x.rank());
  NdArray moved = swapaxes(x, axis, -1);
  const int64_t length = moved.shape.back();
  for (int64_t start = 0; start < moved.numel(); start += length) {
    const Row row{{moved.values.begin() + start, moved.values.begin() + start + length},
                  {moved.errors.begin() + start, moved.errors.begin() + start + length}};
    const std::vector<Result> results = f(row);
    for (int64_t i = 0; i < length; ++i) {
      moved.values[start + i] = results[i].value;
      moved.errors[start + i] = results[i].error;
    }
  }
  return swapaxes(moved, axis, -1);
}

}  // namespace

NdArray reduce(const std::string& op, const NdArray& operand, const std::vector<int>& axes,
               bool keepdims, int ddof) {
  const auto [compute, dtype] = reduction_types(op, operand.dtype);
  const NdArray x = cast(operand, compute);
  std::vector<bool> reduced(x.rank(), axes.empty());
  for (int axis : axes) reduced[normalize_axis(axis, x.rank())] = true;
  std::vector<int64_t> kept_dims, dims;
  for (int i = 0; i < x.rank(); ++i) {
    kept_dims.push_back(reduced[i] ? 1 : x.shape[i]);
    if (!reduced[i] || keepdims) dims.push_back(kept_dims.back());
  }
  const Shape kept{std::span<const int64_t>(kept_dims)};
  std::vector<Row> rows(kept.numel());
  int64_t i = 0;
  for_each_index(x.shape, [&](const Index& index) {
    Row& row = rows[broadcast_offset(index, kept)];
    row.values.push_back(x.values[i]);
    row.errors.push_back(x.errors[i++]);
  });
  NdArray result(dtype, Shape(std::span<const int64_t>(dims)));
  for (size_t r = 0; r < rows.size(); ++r) {
    const Result one =
        reduce_row(op, rows[r], compute == dtype || is_float(dtype) ? dtype : compute, ddof);
    result.values[r] = one.value;
    result.errors[r] = is_float(dtype) ? one.error : (one.error != 0 ? kUnknown : 0);
  }
  return result;
}

NdArray scan(const std::string& op, const NdArray& x, int axis) {
  std::vector<NdArray> totals;
  for (int64_t i = 0; i < x.shape[normalize_axis(axis, x.rank())]; ++i) {
    totals.push_back(reduce(op, slice(x, axis, 0, i + 1, 1), {axis}, /*keepdims=*/true));
  }
  return totals.empty() ? full(x.shape, 0, reduce(op, full(Shape{1}, 0, x.dtype), {}, false).dtype)
                        : concat(totals, axis);
}

namespace {

std::vector<int64_t> order_of(const Row& row, bool descending) {
  std::vector<int64_t> order(row.values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const Real a = row.values[i], b = row.values[j];
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
    return descending ? b < a : a < b;
  });
  return order;
}

Real greatest_error(const Row& row) {
  return row.errors.empty() ? 0 : *std::max_element(row.errors.begin(), row.errors.end());
}

}  // namespace

NdArray sort(const NdArray& x, int axis, bool descending) {
  return map_rows(x, axis, [&](const Row& row) {
    std::vector<Result> results;
    for (const int64_t i : order_of(row, descending)) {
      results.push_back({row.values[i], greatest_error(row)});
    }
    return results;
  });
}

NdArray argsort(const NdArray& x, int axis, bool descending) {
  NdArray result = map_rows(x, axis, [&](const Row& row) {
    std::vector<Result> results;
    for (const int64_t i : order_of(row, descending)) {
      results.push_back({static_cast<Real>(i), greatest_error(row) == 0 ? Real{0} : kUnknown});
    }
    return results;
  });
  result.dtype = DType::kInt64;
  return result;
}

NdArray softmax(const NdArray& x, int axis) {
  const NdArray operand = cast(x, float_type(x.dtype));
  return map_rows(operand, axis, [&](const Row& row) { return soft(row, operand.dtype, false); });
}

NdArray log_softmax(const NdArray& x, int axis) {
  const NdArray operand = cast(x, float_type(x.dtype));
  return map_rows(operand, axis, [&](const Row& row) { return soft(row, operand.dtype, true); });
}

NdArray matmul(const NdArray& left, const NdArray& right) {
  const DType dtype = promote(left.dtype, right.dtype);
  NdArray a = cast(left, dtype), b = cast(right, dtype);
  const bool vector_a = a.rank() == 1, vector_b = b.rank() == 1;
  if (vector_a) a = expand_dims(a, 0);
  if (vector_b) b = expand_dims(b, 1);
  const int64_t m = a.shape[a.rank() - 2], k = a.shape[a.rank() - 1], n = b.shape[b.rank() - 1];
  const auto leading = [](const Shape& shape) {
    return Shape(std::span<const int64_t>(shape.data(), shape.rank() - 2));
  };
  const Shape batch_a = leading(a.shape), batch_b = leading(b.shape);
  const Shape batch = broadcast_shapes(batch_a, batch_b);
  std::vector<int64_t> dims(batch.begin(), batch.end());
  if (!vector_a) dims.push_back(m);
  if (!vector_b) dims.push_back(n);
  NdArray result(dtype, Shape(std::span<const int64_t>(dims)));
  int64_t out = 0;
  for_each_index(batch, [&](const Index& index) {
    const int64_t start_a = broadcast_offset(index, batch_a) * m * k;
    const int64_t start_b = broadcast_offset(index, batch_b) * k * n;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j, ++out) {
        Row products{std::vector<Real>(k), std::vector<Real>(k)};
        for (int64_t l = 0; l < k; ++l) {
          const Real u = a.values[start_a + i * k + l], v = b.values[start_b + l * n + j];
          const Real eu = a.errors[start_a + i * k + l], ev = b.errors[start_b + l * n + j];
          if (!is_float(dtype)) {
            products.values[l] =
                wrap_integer(static_cast<__int128>(u) * static_cast<__int128>(v), dtype);
            products.errors[l] = eu + ev > 0 ? kUnknown : 0;
            continue;
          }
          const Real p = u * v;
          products.values[l] = p;
          Real error = 0;
          if (eu != 0 || ev != 0) error = std::fabs(u) * ev + std::fabs(v) * eu + eu * ev;
          if (std::isnan(error)) error = kUnknown;
          if (std::isfinite(p)) {
            error += std::fabs(p) * epsilon(compute_type(dtype)) + smallest(compute_type(dtype));
            if (std::fabs(p) > largest(compute_type(dtype)) / 4) error = kUnknown;
          }
          products.errors[l] = error;
        }
        // The order is a library's.
        const Result one = sum(products, dtype, static_cast<Real>(k));
        result.values[out] = one.value;
        result.errors[out] = one.error;
      }
    }
  });
  return result;
}

}  // namespace sluice::oracle
