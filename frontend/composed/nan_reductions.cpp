// Reductions that count, or that leave NaN out.
#include <limits>

#include <sluice/ops.h>
#include "frontend/composed/compose.h"
#include "frontend/composed/nan.h"
#include "frontend/reduce.h"

namespace sluice {
namespace {

using frontend::composed;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor with_nan_as(const Tensor& x, double value) {
  return is_float(x.dtype()) ? where(isnan(x), value, x) : x;
}

// The greatest or least of what is not NaN; `least_wanted` is what every number wins against.
template <typename Reduce>
Tensor extremum(const char* name, const Arg& x, const Axes& axes, bool keepdims,
                double least_wanted, Reduce reduce) {
  return composed(x, name, [&](const Tensor& tensor) {
    Tensor result = reduce(with_nan_as(tensor, least_wanted), axes, keepdims);
    if (!is_float(tensor.dtype())) return result;
    return where(all(isnan(tensor), axes, keepdims), frontend::kNaN, std::move(result));
  });
}

// f(x) of floats, in the type that statistics are computed in.
template <typename F>
Tensor statistic(const char* name, const Arg& x, F f) {
  return composed(x, name, [&](const Tensor& tensor) {
    const DType computed = frontend::statistic_dtype(tensor.dtype());
    return astype(f(astype(tensor, computed)), float_type(tensor.dtype()));
  });
}

Tensor mean_of(const Tensor& x, const Axes& axes, bool keepdims) {
  return sum(with_nan_as(x, 0), axes, keepdims) / sum(!isnan(x), axes, keepdims);
}

Tensor variance_of(const Tensor& x, const Axes& axes, bool keepdims, int ddof) {
  const Tensor difference = x - mean_of(x, axes, true);
  const Tensor count = sum(!isnan(x), axes, keepdims);
  const Tensor squares = sum(square(where(isnan(x), 0, difference)), axes, keepdims);
  return where(count > ddof, squares / (count - ddof), frontend::kNaN);
}

}  // namespace

Tensor count_nonzero(Arg x, const Axes& axes, bool keepdims) {
  return composed(x, "count_nonzero", [&](const Tensor& tensor) {
    return sum(astype(tensor, DType::kBool), axes, keepdims);
  });
}

Tensor nansum(Arg x, const Axes& axes, bool keepdims) {
  return composed(x, "nansum", [&](const Tensor& tensor) {
    return sum(with_nan_as(tensor, 0), axes, keepdims);
  });
}

Tensor nanprod(Arg x, const Axes& axes, bool keepdims) {
  return composed(x, "nanprod", [&](const Tensor& tensor) {
    return prod(with_nan_as(tensor, 1), axes, keepdims);
  });
}

Tensor nanmax(Arg x, const Axes& axes, bool keepdims) {
  return extremum("nanmax", x, axes, keepdims, -kInfinity,
                  [](const Tensor& y, const Axes& over, bool keep) { return max(y, over, keep); });
}

Tensor nanmin(Arg x, const Axes& axes, bool keepdims) {
  return extremum("nanmin", x, axes, keepdims, kInfinity,
                  [](const Tensor& y, const Axes& over, bool keep) { return min(y, over, keep); });
}

Tensor nanmean(Arg x, const Axes& axes, bool keepdims) {
  return statistic("nanmean", x, [&](const Tensor& y) { return mean_of(y, axes, keepdims); });
}

Tensor nanvar(Arg x, const Axes& axes, bool keepdims, int ddof) {
  return statistic("nanvar", x,
                   [&](const Tensor& y) { return variance_of(y, axes, keepdims, ddof); });
}

Tensor nanstd(Arg x, const Axes& axes, bool keepdims, int ddof) {
  return statistic("nanstd", x,
                   [&](const Tensor& y) { return sqrt(variance_of(y, axes, keepdims, ddof)); });
}

}  // namespace sluice
