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

// What results read of an axis: for each of them as many elements as there are taps. By tap, then
// by element of the result, so that those of elements side by side are too. Linear ones have two
// taps, and the weight of the second alone.
struct Taps {
  int64_t count = 0;
  std::vector<int64_t> indices;
  std::vector<double> weights;
};

Taps nearest_taps(const Resampling& to, bool is_exact) {
  Taps taps{1, std::vector<int64_t>(to.size), {}};
  for (int64_t i = 0; i < to.size; ++i) {
    taps.indices[i] = is_exact ? (2 * i + 1) * to.extent / (2 * to.size) : i * to.extent / to.size;
  }
  return taps;
}

Taps linear_taps(const Resampling& to) {
  Taps taps{2, std::vector<int64_t>(2 * to.size), std::vector<double>(to.size)};
  for (int64_t i = 0; i < to.size; ++i) {
    const double place = std::max(to.place(i), 0.0);
    const int64_t below = to.clamped(static_cast<int64_t>(place));
    taps.indices[i] = below;
    taps.indices[to.size + i] = to.clamped(below + 1);
    taps.weights[i] = place - static_cast<double>(below);
  }
  return taps;
}

Taps cubic_taps(const Resampling& to) {
  constexpr int kTaps = 4;
  Taps taps{kTaps, std::vector<int64_t>(kTaps * to.size), std::vector<double>(kTaps * to.size)};
  for (int64_t i = 0; i < to.size; ++i) {
    const double place = to.place(i), below = std::floor(place), share = place - below;
    const auto of_taps = frontend::cubic_weights(share, frontend::kCubicSlope);
    for (int k = 0; k < kTaps; ++k) {
      taps.indices[k * to.size + i] = to.clamped(static_cast<int64_t>(below) + k - 1);
      taps.weights[k * to.size + i] = of_taps[k];
    }
  }
  return taps;
}

double weight_of(Filter filter, double distance) {
  distance = std::abs(distance);
  if (filter == Filter::kLinear) return std::max(1 - distance, 0.0);
  if (distance >= 2) return 0;
  return distance < 1 ? frontend::near_weight(distance, frontend::kPillowSlope)
                      : frontend::far_weight(distance, frontend::kPillowSlope);
}

// With filters as wide as what becomes one element, each divided by the sum of its weights.
Taps antialiased_taps(const Resampling& to, Filter filter) {
  const double step = to.step(), scale = std::max(step, 1.0);
  const double support = (filter == Filter::kLinear ? 1 : 2) * scale;
  const auto count = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  // Those that are not needed have a weight of 0, and an index that some other has.
  Taps taps{count, std::vector<int64_t>(count * to.size), std::vector<double>(count * to.size)};
  for (int64_t i = 0; i < to.size; ++i) {
    const double centre = step * (static_cast<double>(i) + 0.5);
    const auto begin = static_cast<int64_t>(std::max(std::floor(centre - support + 0.5), 0.0));
    const int64_t end =
        std::min(static_cast<int64_t>(std::floor(centre + support + 0.5)), to.extent);
    double total = 0;
    for (int64_t tap = 0; tap < count; ++tap) {
      const int64_t k = begin + tap;
      const double weight =
          k < end ? weight_of(filter, (static_cast<double>(k) - centre + 0.5) / scale) : 0;
      taps.indices[tap * to.size + i] = to.clamped(std::min(k, std::max(end - 1, begin)));
      taps.weights[tap * to.size + i] = weight;
      total += weight;
    }
    for (int64_t k = 0; k < count && total != 0; ++k) taps.weights[k * to.size + i] /= total;
  }
  return taps;
}

// The taps of all axes, as two tensors. On a GPU they are parts of one, whose kernels make the
// indices integers: a copy to it takes longer than most kernels.
class Tables {
 public:
  // `like`: whose device they are on, and whose dtype weights have.
  Tables(const std::vector<Taps>& axes, const Tensor& like) {
    std::vector<int64_t> indices;
    std::vector<double> weights;
    for (const Taps& taps : axes) {
      indices.insert(indices.end(), taps.indices.begin(), taps.indices.end());
      weights.insert(weights.end(), taps.weights.begin(), taps.weights.end());
    }
    // Of float32 or float64. Rounded here: kernels read them again for each row.
    const bool is_wide = like.dtype() == DType::kFloat64;
    const auto put = [&](const std::vector<double>& numbers) {
      const std::vector<float> rounded(numbers.begin(), is_wide ? numbers.begin() : numbers.end());
      return (is_wide ? Tensor::from(numbers) : Tensor::from(rounded)).to(like.device());
    };
    constexpr int64_t kExact = int64_t{1} << 24;  // as float32
    if (like.device().type() == DeviceType::kCpu || weights.empty() ||
        (!is_wide && *std::max_element(indices.begin(), indices.end()) > kExact)) {
      if (!indices.empty()) indices_ = Tensor::from(indices).to(like.device());
      if (!weights.empty()) weights_ = put(weights);
      return;
    }
    std::vector<double> numbers(indices.begin(), indices.end());
    numbers.insert(numbers.end(), weights.begin(), weights.end());
    const Tensor both = put(numbers);
    const auto count = static_cast<int64_t>(indices.size());
    indices_ = astype(slice(both, 0, 0, count), DType::kInt64);
    weights_ = slice(both, 0, count, both.numel());
  }
  // The next of them, in order.
  Tensor next_indices(int64_t count) { return next(indices_, count, &next_index_); }
  // To be broadcast with a tensor of `rank` axes, of `shape` from this axis on.
  Tensor next_weights(int axis, int rank, std::initializer_list<int64_t> shape) {
    frontend::Dims dims(rank, 1);
    std::copy(shape.begin(), shape.end(), dims.begin() + axis);
    const Shape whole(span_of(dims));
    return reshape(next(weights_, whole.numel(), &next_weight_), whole);
  }

 private:
  static Tensor next(const Tensor& all, int64_t count, int64_t* at) {
    const int64_t first = std::exchange(*at, *at + count);
    return slice(all, 0, first, first + count);
  }

  Tensor indices_, weights_;
  int64_t next_index_ = 0, next_weight_ = 0;
};

Tensor linear(const Tensor& x, int axis, int64_t size, Tables* tables) {
  const Tensor below = take(x, tables->next_indices(size), axis);
  const Tensor above = take(x, tables->next_indices(size), axis);
  return lerp(below, above, tables->next_weights(axis, x.ndim(), {size}));
}

Tensor cubic(const Tensor& x, int axis, int64_t size, int64_t taps, Tables* tables) {
  Tensor sum;
  for (int64_t k = 0; k < taps; ++k) {
    Tensor term =
        take(x, tables->next_indices(size), axis) * tables->next_weights(axis, x.ndim(), {size});
    sum = k == 0 ? std::move(term) : std::move(sum) + std::move(term);
  }
  return sum;
}

Tensor antialiased(const Tensor& x, int axis, int64_t size, int64_t taps, Tables* tables) {
  frontend::Dims dims = frontend::dims_of(x);
  dims[axis] = size;
  dims.insert(dims.begin() + axis, taps);
  const Tensor elements = take(x, tables->next_indices(taps * size), axis);
  const Tensor factors = tables->next_weights(axis, x.ndim() + 1, {taps, size});
  return sum(reshape(elements, Shape(span_of(dims))) * factors, axis);
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
    const auto repeats = [&](const Resampling& to) {
      return !is_weighted && to.extent > 0 && to.size % to.extent == 0;
    };
    std::vector<Resampling> axes;
    std::vector<Taps> taps;
    for (int k = 0; k < size.rank(); ++k) {
      const Resampling& to =
          axes.emplace_back(Resampling{values.shape()[first + k], size[k], align_corners});
      Taps& of_axis = taps.emplace_back();
      if (to.size == to.extent || repeats(to)) continue;
      if (to.extent == 0) fail(kName, "axis ", first + k, " of ", describe(tensor), " is empty");
      of_axis = !is_weighted                ? nearest_taps(to, filter == Filter::kNearestExact)
                : antialias                 ? antialiased_taps(to, filter)
                : filter == Filter::kLinear ? linear_taps(to)
                                            : cubic_taps(to);
    }
    Tables tables(taps, values);
    for (int k = 0; k < size.rank(); ++k) {
      const int axis = first + k;
      const int64_t to = size[k], count = taps[k].count;
      if (to == axes[k].extent) continue;
      if (repeats(axes[k])) {
        values = repeat(values, to / axes[k].extent, axis);
      } else if (!is_weighted) {
        values = take(values, tables.next_indices(to), axis);
      } else if (antialias) {
        values = antialiased(values, axis, to, count, &tables);
      } else if (filter == Filter::kLinear) {
        values = linear(values, axis, to, &tables);
      } else {
        values = cubic(values, axis, to, count, &tables);
      }
    }
    return astype(std::move(values), result);
  });
}

}  // namespace sluice
