// Pooling whose windows follow from the result's extents.
#include <algorithm>
#include <utility>
#include <vector>

#include <sluice/ops.h>
#include "frontend/composed/compose.h"
#include "frontend/dims.h"
#include "frontend/layers/windows.h"

namespace sluice {
namespace {

using frontend::composed;
using frontend::describe;
using frontend::Extents;
using frontend::extents_of;
using frontend::fail;
using frontend::span_of;

// The windows along an axis: from floor(i n / size) to ceil((i + 1) n / size).
struct AdaptiveWindows {
  int64_t extent, size;

  int64_t begin(int64_t i) const { return i * extent / size; }
  int64_t end(int64_t i) const { return ((i + 1) * extent + size - 1) / size; }
  int64_t longest() const {
    int64_t longest = 0;
    for (int64_t i = 0; i < size; ++i) longest = std::max(longest, end(i) - begin(i));
    return longest;
  }
};

// x with an axis of `size` windows and one of their elements in place of `axis`. Windows shorter
// than the longest have their first element more than once. Elements are multiplied by their share
// in the window's mean, if is_mean.
Tensor gathered(const char* name, const Tensor& x, int axis, int64_t size, bool is_mean) {
  const AdaptiveWindows windows{x.shape()[axis], size};
  const int64_t longest = windows.longest();
  std::vector<int64_t> indices;
  std::vector<double> shares;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t begin = windows.begin(i), count = windows.end(i) - begin;
    for (int64_t k = 0; k < longest; ++k) {
      indices.push_back(k < count ? begin + k : begin);
      shares.push_back(k < count ? 1.0 / static_cast<double>(count) : 0);
    }
  }
  Tensor elements = take(x, Tensor::from(indices).to(x.device()), axis);
  if (is_mean) {
    frontend::Dims along(x.ndim(), 1);
    along[axis] = size * longest;
    const Tensor factors = Tensor::from(shares, Shape(span_of(along))).to(x.device());
    elements = std::move(elements) * astype(factors, x.dtype());
  }
  frontend::Dims dims = frontend::dims_of(x);
  dims[axis] = size;
  dims.insert(dims.begin() + axis + 1, longest);
  frontend::check_rank(name, dims.size(), x);
  return reshape(elements, Shape(span_of(dims)));
}

// `side_by_side`(x, window) if all windows of an axis are of one extent and do not overlap, else
// `one_axis`(x, axis, size) for each axis.
template <typename F, typename G>
Tensor adaptive(const char* name, const Tensor& x, const Extents& sizes, F side_by_side,
                G one_axis) {
  const auto axes = static_cast<int>(sizes.size());
  if (x.ndim() < axes) {
    fail(name, describe(x), " has not the axes (.., ", frontend::names_of_axes(axes), ")");
  }
  Extents window;
  bool is_even = true;
  for (int i = 0; i < axes; ++i) {
    const int64_t extent = x.shape(i - axes);
    if (sizes[i] < 1 || extent < 1) {
      fail(name, describe(x), " cannot be pooled to ", frontend::text_of(sizes));
    }
    is_even &= extent % sizes[i] == 0;
    window.push_back(extent / sizes[i]);
  }
  if (is_even) return side_by_side(x, window);
  Tensor result = x;
  for (int i = 0; i < axes; ++i) result = one_axis(result, x.ndim() - axes + i, sizes[i]);
  return result;
}

template <typename E>
E from_extents(const Extents& extents) {
  if constexpr (std::is_same_v<E, Pair>) {
    return {extents[0], extents[1]};
  } else if constexpr (std::is_same_v<E, Triple>) {
    return {extents[0], extents[1], extents[2]};
  } else {
    return extents[0];
  }
}

template <typename E>
Tensor adaptive_avg(const char* name, const Arg& x, const E& size,
                    Tensor (*pool)(Arg, E, const PoolOptions<E>&)) {
  return composed(x, name, [&](const Tensor& tensor) {
    const DType result = float_type(tensor.dtype());
    const auto side_by_side = [&](const Tensor& values, const Extents& window) {
      return pool(values, from_extents<E>(window), {});
    };
    const auto one_axis = [&](const Tensor& values, int axis, int64_t count) {
      return sum(gathered(name, astype(values, compute_type(result)), axis, count, true), axis + 1);
    };
    return astype(adaptive(name, tensor, extents_of(size), side_by_side, one_axis), result);
  });
}

template <typename E>
Tensor adaptive_max(const char* name, const Arg& x, const E& size,
                    Tensor (*pool)(Arg, E, const PoolOptions<E>&)) {
  return composed(x, name, [&](const Tensor& tensor) {
    const auto side_by_side = [&](const Tensor& values, const Extents& window) {
      return pool(values, from_extents<E>(window), {});
    };
    const auto one_axis = [&](const Tensor& values, int axis, int64_t count) {
      return max(gathered(name, values, axis, count, false), axis + 1);
    };
    return adaptive(name, tensor, extents_of(size), side_by_side, one_axis);
  });
}

}  // namespace

Tensor adaptive_avg_pool1d(Arg x, int64_t size) {
  return adaptive_avg("adaptive_avg_pool1d", x, size, &avg_pool1d);
}
Tensor adaptive_avg_pool2d(Arg x, Pair size) {
  return adaptive_avg("adaptive_avg_pool2d", x, size, &avg_pool2d);
}
Tensor adaptive_avg_pool3d(Arg x, Triple size) {
  return adaptive_avg("adaptive_avg_pool3d", x, size, &avg_pool3d);
}

Tensor adaptive_max_pool1d(Arg x, int64_t size) {
  return adaptive_max("adaptive_max_pool1d", x, size, &max_pool1d);
}
Tensor adaptive_max_pool2d(Arg x, Pair size) {
  return adaptive_max("adaptive_max_pool2d", x, size, &max_pool2d);
}
Tensor adaptive_max_pool3d(Arg x, Triple size) {
  return adaptive_max("adaptive_max_pool3d", x, size, &max_pool3d);
}

}  // namespace sluice
