// Medians and quantiles, by sorting.
#include <algorithm>
#include <vector>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/composed/compose.h"
#include "frontend/composed/nan.h"
#include "frontend/dims.h"
#include "frontend/reduce.h"

namespace sluice {
namespace {

using frontend::composed;
using frontend::describe;
using frontend::Dims;
using frontend::fail;
using frontend::make_shape;
using frontend::span_of;

// Lines along the last axis, of what is reduced, and the shape of a result of each.
struct Lines {
  Tensor sorted;  // in the type that statistics are computed in
  Shape shape;
};

Lines sorted_lines(const char* op, const Tensor& x, const Axes& axes, bool keepdims) {
  const std::vector<int> reduced = frontend::check_axes(op, axes, x);
  std::vector<int> order;
  Dims dims, result;
  int64_t length = 1;
  for (int k = 0; k < x.ndim(); ++k) {
    const bool is_reduced = std::find(reduced.begin(), reduced.end(), k) != reduced.end();
    if (!is_reduced) {
      order.push_back(k);
      dims.push_back(x.shape()[k]);
    }
    if (!is_reduced || keepdims) result.push_back(is_reduced ? 1 : x.shape()[k]);
    if (is_reduced) length *= x.shape()[k];
  }
  order.insert(order.end(), reduced.begin(), reduced.end());
  dims.push_back(length);
  // Rounding keeps the order: the elements are sorted in their own dtype.
  const Tensor lines =
      reshape(order.empty() ? x : permute(x, order), make_shape(op, span_of(dims), x));
  return {astype(sort(lines, -1), frontend::statistic_dtype(x.dtype())),
          make_shape(op, span_of(result), x)};
}

// One element of each line.
Tensor at(const Tensor& lines, int64_t place) {
  return squeeze(slice(lines, -1, place, place + 1), -1);
}
Tensor at(const Tensor& lines, const Tensor& place) {
  return squeeze(take_along_axis(lines, expand_dims(place, -1), -1), -1);
}

// Of the neighbours a <= b, so far from a to b.
using Estimate = Tensor (*)(const Tensor& a, const Tensor& b, const Tensor& fraction);

Tensor middle(const Tensor& a, const Tensor& b, const Tensor& fraction) {
  return where(fraction == 0, a, (a + b) / 2);
}

// NumPy's: exact at both ends.
Tensor interpolated(const Tensor& a, const Tensor& b, const Tensor& fraction) {
  const Tensor width = b - a;
  return where(a == b, a, where(fraction < 0.5, a + width * fraction, b - width * (1 - fraction)));
}

// What lies at q of the way through each line; NaN if a line has NaN, or, if they are skipped,
// nothing else.
Tensor quantile_of(const Tensor& sorted, double q, bool skips_nan, Estimate estimate) {
  const int64_t length = sorted.shape().back();
  if (length == 0) {
    return full(sum(sorted, -1).shape(), frontend::kNaN, sorted.dtype(), sorted.device());
  }
  if (!skips_nan) {
    const double place = q * static_cast<double>(length - 1);
    const auto below = std::clamp<int64_t>(static_cast<int64_t>(place), 0, length - 1);
    const Tensor fraction =
        full({}, place - static_cast<double>(below), sorted.dtype(), sorted.device());
    const Tensor result =
        estimate(at(sorted, below), at(sorted, std::min(below + 1, length - 1)), fraction);
    return where(isnan(at(sorted, length - 1)), frontend::kNaN, result);
  }
  const Tensor last = maximum(sum(!isnan(sorted), -1) - 1, 0);
  const Tensor place = q * astype(last, DType::kFloat64);
  const Tensor below = minimum(astype(place, DType::kInt64), last);
  const Tensor fraction = astype(place - astype(below, DType::kFloat64), sorted.dtype());
  return estimate(at(sorted, below), at(sorted, minimum(below + 1, last)), fraction);
}

Tensor quantile_of(const char* op, const Arg& x, double q, const Axes& axes, bool keepdims,
                   bool skips_nan, Estimate estimate = interpolated) {
  return composed(x, op, [&](const Tensor& tensor) {
    if (!(q >= 0 && q <= 1)) fail(op, q, " is not between 0 and 1, for ", describe(tensor));
    const Lines lines = sorted_lines(op, tensor, axes, keepdims);
    const Tensor result = quantile_of(lines.sorted, q, skips_nan, estimate);
    return astype(reshape(result, lines.shape), float_type(tensor.dtype()));
  });
}

}  // namespace

Tensor median(Arg x, const Axes& axes, bool keepdims) {
  return quantile_of("median", x, 0.5, axes, keepdims, false, middle);
}
Tensor nanmedian(Arg x, const Axes& axes, bool keepdims) {
  return quantile_of("nanmedian", x, 0.5, axes, keepdims, true, middle);
}
Tensor quantile(Arg x, double q, const Axes& axes, bool keepdims) {
  return quantile_of("quantile", x, q, axes, keepdims, false);
}
Tensor nanquantile(Arg x, double q, const Axes& axes, bool keepdims) {
  return quantile_of("nanquantile", x, q, axes, keepdims, true);
}
Tensor percentile(Arg x, double q, const Axes& axes, bool keepdims) {
  return quantile_of("percentile", x, q / 100, axes, keepdims, false);
}

Tensor quantile(Arg x, const std::vector<double>& q, const Axes& axes, bool keepdims) {
  constexpr const char* kOp = "quantile";
  return composed(x, kOp, [&](const Tensor& tensor) {
    const Lines lines = sorted_lines(kOp, tensor, axes, keepdims);
    std::vector<Tensor> results;
    for (const double each : q) {
      if (!(each >= 0 && each <= 1)) {
        fail(kOp, each, " is not between 0 and 1, for ", describe(tensor));
      }
      results.push_back(reshape(quantile_of(lines.sorted, each, false, interpolated), lines.shape));
    }
    if (results.empty()) fail(kOp, "no q is given, for ", describe(tensor));
    return astype(stack(results), float_type(tensor.dtype()));
  });
}

}  // namespace sluice
