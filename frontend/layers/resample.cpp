// Images of other extents, axis by axis: each element is a weighted sum of some.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/ops.h>
#include "frontend/composed/compose.h"
#include "frontend/dims.h"
#include "frontend/layers/cubic.h"

namespace sluice {
namespace {

using frontend::composed;
using frontend::describe;
using frontend::fail;
using frontend::span_of;

enum class Filter { kNearest, kNearestExact, kLinear, kCubic };

Filter filter_of(const char* name, std::string_view mode) {
  if (mode == "nearest") return Filter::kNearest;
  if (mode == "nearest-exact") return Filter::kNearestExact;
  if (mode == "linear" || mode == "bilinear" || mode == "trilinear") return Filter::kLinear;
  if (mode == "cubic" || mode == "bicubic") return Filter::kCubic;
  fail(name, "mode \"", std::string(mode),
       "\" is none of \"nearest\", \"nearest-exact\", \"linear\" and \"cubic\"");
}

// From `extent` elements to `size`.
struct Resampling {
  int64_t extent, size;
  bool align_corners;

  double step() const {
    if (!align_corners) return static_cast<double>(extent) / static_cast<double>(size);
    return size > 1 ? static_cast<double>(extent - 1) / static_cast<double>(size - 1) : 0;
  }
  // Where element i of the result lies among those of x.
  double place(int64_t i) const {
    // As a quotient of integers it is exact where both have an element.
    if (align_corners) {
      return size > 1 ? static_cast<double>(i * (extent - 1)) / static_cast<double>(size - 1) : 0;
    }
    return (static_cast<double>(i) + 0.5) * static_cast<double>(extent) /
               static_cast<double>(size) -
           0.5;
  }
  int64_t clamped(int64_t i) const { return std::clamp<int64_t>(i, 0, extent - 1); }
};

// `values`, of `shape` from this axis on, to be broadcast with a tensor of `rank` axes.
template <typename T>
Tensor along(int axis, int rank, std::initializer_list<int64_t> shape, const std::vector<T>& values,
             const Tensor& like) {
  frontend::Dims dims(rank, 1);
  std::copy(shape.begin(), shape.end(), dims.begin() + axis);
  return Tensor::from(values, Shape(span_of(dims))).to(like.device());
}
// Of the dtype of x, float32 or float64. Rounded here: kernels read them again for each row.
Tensor weights_along(int axis, int rank, std::initializer_list<int64_t> shape,
                     const std::vector<double>& values, const Tensor& x) {
  if (x.dtype() == DType::kFloat64) return along(axis, rank, shape, values, x);
  const std::vector<float> rounded(values.begin(), values.end());
  return along(axis, rank, shape, rounded, x);
}
Tensor weights_along(int axis, const std::vector<double>& values, const Tensor& x) {
  return weights_along(axis, x.ndim(), {static_cast<int64_t>(values.size())}, values, x);
}

Tensor indexed(const Tensor& x, const std::vector<int64_t>& indices, int axis) {
  return take(x, Tensor::from(indices).to(x.device()), axis);
}

Tensor nearest(const Tensor& x, int axis, const Resampling& to, bool is_exact) {
  if (to.extent > 0 && to.size % to.extent == 0) return repeat(x, to.size / to.extent, axis);
  std::vector<int64_t> indices(to.size);
  for (int64_t i = 0; i < to.size; ++i) {
    indices[i] = is_exact ? (2 * i + 1) * to.extent / (2 * to.size) : i * to.extent / to.size;
  }
  return indexed(x, indices, axis);
}

Tensor linear(const Tensor& x, int axis, const Resampling& to) {
  std::vector<int64_t> below(to.size), above(to.size);
  std::vector<double> shares(to.size);
  for (int64_t i = 0; i < to.size; ++i) {
    const double place = std::max(to.place(i), 0.0);
    below[i] = to.clamped(static_cast<int64_t>(place));
    above[i] = to.clamped(below[i] + 1);
    shares[i] = place - static_cast<double>(below[i]);
  }
  return lerp(indexed(x, below, axis), indexed(x, above, axis), weights_along(axis, shares, x));
}

Tensor cubic(const Tensor& x, int axis, const Resampling& to) {
  constexpr int kTaps = 4;
  std::vector<int64_t> indices[kTaps];
  std::vector<double> weights[kTaps];
  for (int64_t i = 0; i < to.size; ++i) {
    const double place = to.place(i), below = std::floor(place), share = place - below;
    const auto of_taps = frontend::cubic_weights(share, frontend::kCubicSlope);
    for (int k = 0; k < kTaps; ++k) {
      indices[k].push_back(to.clamped(static_cast<int64_t>(below) + k - 1));
      weights[k].push_back(of_taps[k]);
    }
  }
  Tensor sum;
  for (int k = 0; k < kTaps; ++k) {
    Tensor term = indexed(x, indices[k], axis) * weights_along(axis, weights[k], x);
    sum = k == 0 ? std::move(term) : std::move(sum) + std::move(term);
  }
  return sum;
}

double weight_of(Filter filter, double distance) {
  distance = std::abs(distance);
  if (filter == Filter::kLinear) return std::max(1 - distance, 0.0);
  if (distance >= 2) return 0;
  return distance < 1 ? frontend::near_weight(distance, frontend::kPillowSlope)
                      : frontend::far_weight(distance, frontend::kPillowSlope);
}

// With filters as wide as what becomes one element, each divided by the sum of its weights.
Tensor antialiased(const Tensor& x, int axis, const Resampling& to, Filter filter) {
  const double step = to.step(), scale = std::max(step, 1.0);
  const double support = (filter == Filter::kLinear ? 1 : 2) * scale;
  const auto taps = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  // By tap, then by element of the result, so that those of elements side by side are too. Those
  // that are not needed have a weight of 0, and an index that some other has.
  std::vector<int64_t> indices(taps * to.size);
  std::vector<double> weights(taps * to.size);
  for (int64_t i = 0; i < to.size; ++i) {
    const double centre = step * (static_cast<double>(i) + 0.5);
    const auto begin = static_cast<int64_t>(std::max(std::floor(centre - support + 0.5), 0.0));
    const int64_t end =
        std::min(static_cast<int64_t>(std::floor(centre + support + 0.5)), to.extent);
    double total = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t k = begin + tap;
      const double weight =
          k < end ? weight_of(filter, (static_cast<double>(k) - centre + 0.5) / scale) : 0;
      indices[tap * to.size + i] = to.clamped(std::min(k, std::max(end - 1, begin)));
      weights[tap * to.size + i] = weight;
      total += weight;
    }
    for (int64_t k = 0; k < taps && total != 0; ++k) weights[k * to.size + i] /= total;
  }
  frontend::Dims dims = frontend::dims_of(x);
  dims[axis] = to.size;
  dims.insert(dims.begin() + axis, taps);
  const Tensor factors = weights_along(axis, x.ndim() + 1, {taps, to.size}, weights, x);
  return sum(reshape(indexed(x, indices, axis), Shape(span_of(dims))) * factors, axis);
}

}  // namespace

Tensor interpolate(Arg x, const Shape& size, std::string_view mode, bool align_corners,
                   bool antialias) {
  constexpr const char* kName = "interpolate";
  return composed(x, kName, [&](const Tensor& tensor) {
    const int first = tensor.ndim() - size.rank();
    if (size.rank() < 1 || first < 0) {
      fail(kName, describe(tensor), " has not the ", size.rank(), " axes of the size ",
           to_string(size));
    }
    const Filter filter = filter_of(kName, mode);
    const bool is_weighted = filter == Filter::kLinear || filter == Filter::kCubic;
    if (!is_weighted && (align_corners || antialias)) {
      fail(kName, align_corners ? "align_corners" : "antialias",
           " is for modes \"linear\" and \"cubic\" only");
    }
    if (antialias) frontend::check_rank(kName, tensor.ndim() + 1, tensor);
    const DType result = is_weighted ? float_type(tensor.dtype()) : tensor.dtype();
    Tensor values = is_weighted ? astype(tensor, compute_type(result)) : tensor;
    for (int k = 0; k < size.rank(); ++k) {
      const int axis = first + k;
      const Resampling to{values.shape()[axis], size[k], align_corners};
      if (to.size == to.extent) continue;
      if (to.extent == 0) fail(kName, "axis ", axis, " of ", describe(tensor), " is empty");
      if (!is_weighted) {
        values = nearest(values, axis, to, filter == Filter::kNearestExact);
      } else if (antialias) {
        values = antialiased(values, axis, to, filter);
      } else {
        values = filter == Filter::kLinear ? linear(values, axis, to) : cubic(values, axis, to);
      }
    }
    return astype(std::move(values), result);
  });
}

}  // namespace sluice
