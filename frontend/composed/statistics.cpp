// Integrals, covariances, counts.
#include <algorithm>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/composed/compose.h"
#include "frontend/dims.h"
#include "frontend/indexing/scatter.h"
#include "frontend/record.h"
#include "frontend/reduce.h"

namespace sluice {
namespace {

using frontend::check_axis;
using frontend::composed;
using frontend::describe;
using frontend::Dims;
using frontend::fail;
using frontend::span_of;
using frontend::statistic_dtype;

// sum(widths * (y[1:] + y[:-1]) / 2) along an axis.
Tensor integral(const Tensor& y, const Operand& widths, int axis) {
  const int64_t count = y.shape()[axis];
  const Tensor next = slice(y, axis, 1, count);
  const Tensor last = slice(y, axis, 0, std::max<int64_t>(count - 1, 0));
  const Tensor heights = next + last;
  const Tensor areas =
      (widths.is_tensor() ? widths.tensor() * heights : widths.scalar() * heights) / 2.0;
  return sum(areas, axis);
}

// Products of so few columns take longer than to turn them into rows.
constexpr int64_t kFewColumns = 8;

// Of the rows or columns of x, floats that are computed in their own type.
Tensor covariance(const char* op, const Tensor& x, bool rowvar, int ddof) {
  if (x.ndim() > 2) fail(op, describe(x), " has more than 2 dimensions");
  const bool turns = x.ndim() == 2 && !rowvar && x.shape(1) <= kFewColumns;
  const bool of_rows = rowvar || turns || x.ndim() < 2;
  const Tensor values = x.ndim() < 2 ? reshape(x, {1, x.numel()}) : turns ? transpose(x) : x;
  const int along = of_rows ? 1 : 0;
  const auto count = static_cast<double>(std::max<int64_t>(values.shape(along) - ddof, 0));
  const Tensor difference = values - mean(values, along, true);
  const Tensor turned = transpose(difference);
  const Tensor result = (of_rows ? matmul(difference, turned) : matmul(turned, difference)) / count;
  return values.shape(1 - along) == 1 ? reshape(result, Shape{}) : result;
}

// The number of each element's bin; `bins` for those outside of them all.
Tensor bin_of(const Tensor& x, const Tensor& edges, int64_t bins) {
  const Tensor first = slice(edges, 0, 0, 1), last = slice(edges, 0, bins, bins + 1);
  const Tensor inside = x >= first && x <= last;
  const Tensor place =
      astype((x - first) / (last - first) * static_cast<double>(bins), DType::kInt64);
  // What is rounded to beside its bin is put right by the edges.
  Tensor bin = clip(where(inside, place, 0), 0, bins - 1);
  bin = where(x < take(edges, bin, 0), bin - 1, bin);
  bin = where(x >= take(edges, bin + 1, 0) && bin != bins - 1, bin + 1, bin);
  return where(inside, bin, bins);
}

TensorPair histogram_of(const Tensor& x, int64_t bins, const Tensor& low, const Tensor& high) {
  if (bins < 1) fail("histogram", bins, " bins for ", describe(x));
  // A range of no width is one of 1.
  const Tensor is_point = low == high;
  const Tensor first = where(is_point, low - 0.5, low), last = where(is_point, high + 0.5, high);
  const Tensor index = arange(0, bins + 1, 1, x.dtype(), x.device());
  const Tensor step = (last - first) / static_cast<double>(bins);
  const Tensor edges = where(index == static_cast<double>(bins), last, index * step + first);
  const Tensor counts =
      scatter_add(zeros({bins + 1}, DType::kInt64, x.device()), bin_of(x, edges, bins),
                  full({1}, 1, DType::kInt64, x.device()), 0);
  return {slice(counts, 0, 0, bins), edges};
}

// The elements in a row, in the type that edges are computed in.
Tensor histogram_values(const Tensor& x) {
  const DType dtype = is_float(x.dtype()) ? compute_type(x.dtype()) : DType::kFloat64;
  return astype(reshape(x, Shape{x.numel()}), dtype);
}

}  // namespace

Tensor trapezoid(Arg y, double dx, int axis) {
  return composed(y, "trapezoid", [&](const Tensor& heights) {
    const int along = check_axis("trapezoid", axis, heights.ndim(), heights);
    return astype(integral(astype(heights, statistic_dtype(heights.dtype())), dx, along),
                  float_type(heights.dtype()));
  });
}

Tensor trapezoid(Arg y, Arg x, int axis) {
  constexpr const char* kOp = "trapezoid";
  return composed(y, x, kOp, [&](const Tensor& heights, const Tensor& at) {
    const int along = check_axis(kOp, axis, heights.ndim(), heights);
    if (at.ndim() == 0) fail(kOp, "x ", describe(at), " has no axis, y is ", describe(heights));
    const DType dtype = float_type(promote(heights.dtype(), at.dtype()));
    Tensor widths = diff(astype(at, compute_type(dtype)), 1, at.ndim() == 1 ? 0 : axis);
    if (at.ndim() == 1) {
      Dims dims(heights.ndim(), 1);
      dims[along] = widths.numel();
      widths = reshape(std::move(widths), frontend::make_shape(kOp, span_of(dims), heights));
    }
    return astype(integral(astype(heights, compute_type(dtype)), widths, along), dtype);
  });
}

Tensor cov(Arg x, bool rowvar, int ddof) {
  return composed(x, "cov", [&](const Tensor& tensor) {
    return astype(covariance("cov", astype(tensor, statistic_dtype(tensor.dtype())), rowvar, ddof),
                  float_type(tensor.dtype()));
  });
}

Tensor corrcoef(Arg x, bool rowvar) {
  return composed(x, "corrcoef", [&](const Tensor& tensor) {
    const DType dtype = float_type(tensor.dtype());
    const Tensor c =
        covariance("corrcoef", astype(tensor, statistic_dtype(tensor.dtype())), rowvar, 1);
    if (c.ndim() == 0) return astype(c / c, dtype);
    const Tensor deviation = sqrt(diagonal(c));
    const Tensor quotient = c / expand_dims(deviation, 1) / expand_dims(deviation, 0);
    return astype(clip(quotient, -1, 1), dtype);
  });
}

Tensor bincount(Arg x, const Tensor& weights, int64_t minlength) {
  constexpr const char* kOp = "bincount";
  return composed(x, kOp, [&](const Tensor& tensor) {
    if (!is_integer(tensor.dtype())) fail(kOp, "takes integers, not ", describe(tensor));
    if (minlength < 0) fail(kOp, "minlength is ", minlength);
    const Tensor values = astype(reshape(tensor, Shape{tensor.numel()}), DType::kInt64);
    int64_t count = minlength;
    if (values.numel() > 0) {
      const std::vector<int64_t> ends = stack({min(values), max(values)}).to_vector<int64_t>();
      if (ends[0] < 0) fail(kOp, "there is a negative number in ", describe(tensor));
      count = std::max(count, ends[1] + 1);
    }
    // `values` have just been checked: they are positions.
    const auto counted = [&](DType dtype, const Tensor& updates) {
      const Tensor counts = frontend::scattered({kOp, fusion::Op::kScatterAdd},
                                                zeros({count, 1}, dtype, tensor.device()), values,
                                                broadcast_to(updates, Shape{values.numel(), 1}));
      return reshape(counts, Shape{count});
    };
    if (!weights.defined()) {
      return counted(DType::kInt64, full({1, 1}, 1, DType::kInt64, tensor.device()));
    }
    if (weights.shape() != tensor.shape()) {
      fail(kOp, "weights ", describe(weights), " for ", describe(tensor));
    }
    const DType dtype = float_type(weights.dtype());
    return counted(dtype, reshape(weights, Shape{weights.numel(), 1}));
  });
}

TensorPair histogram(Arg x, int64_t bins) {
  return composed(x, "histogram", [&](const Tensor& tensor) {
    const Tensor values = histogram_values(tensor);
    const DType dtype = values.dtype();
    const bool is_empty = values.numel() == 0;
    return histogram_of(values, bins,
                        is_empty ? full({1}, 0, dtype, tensor.device()) : min(values, 0, true),
                        is_empty ? full({1}, 1, dtype, tensor.device()) : max(values, 0, true));
  });
}

TensorPair histogram(Arg x, int64_t bins, double low, double high) {
  return composed(x, "histogram", [&](const Tensor& tensor) {
    if (!(low <= high)) fail("histogram", "the range is ", low, " to ", high);
    const Tensor values = histogram_values(tensor);
    return histogram_of(values, bins, full({1}, low, values.dtype(), tensor.device()),
                        full({1}, high, values.dtype(), tensor.device()));
  });
}

}  // namespace sluice
