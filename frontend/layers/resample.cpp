// Layers that move or repeat elements.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/ops.h>
#include "frontend/composed/compose.h"
#include "frontend/dims.h"

namespace sluice {
namespace {

using frontend::composed;
using frontend::describe;
using frontend::fail;
using frontend::span_of;

// `values`, one for each position along `axis` of a tensor of this rank, to be broadcast with it.
template <typename T>
Tensor along(int axis, int rank, const std::vector<T>& values, const Tensor& like) {
  frontend::Dims dims(rank, 1);
  dims[axis] = static_cast<int64_t>(values.size());
  return Tensor::from(values, Shape(span_of(dims))).to(like.device());
}

Tensor indexed(const Tensor& x, const std::vector<int64_t>& indices, int axis) {
  return take(x, Tensor::from(indices).to(x.device()), axis);
}

Tensor nearest(const Tensor& x, int axis, int64_t size) {
  const int64_t extent = x.shape()[axis];
  if (extent > 0 && size % extent == 0) return repeat(x, size / extent, axis);
  std::vector<int64_t> indices(size);
  for (int64_t i = 0; i < size; ++i) indices[i] = i * extent / size;
  return indexed(x, indices, axis);
}

Tensor linear(const Tensor& x, int axis, int64_t size, bool align_corners) {
  const int64_t extent = x.shape()[axis];
  std::vector<int64_t> below(size), above(size);
  std::vector<double> shares(size);
  for (int64_t i = 0; i < size; ++i) {
    double place = 0;
    if (align_corners) {
      if (size > 1) place = static_cast<double>(i * (extent - 1)) / static_cast<double>(size - 1);
    } else {
      place =
          (static_cast<double>(i) + 0.5) * static_cast<double>(extent) / static_cast<double>(size) -
          0.5;
    }
    place = std::max(place, 0.0);
    below[i] = std::min(static_cast<int64_t>(place), extent - 1);
    above[i] = std::min(below[i] + 1, extent - 1);
    shares[i] = place - static_cast<double>(below[i]);
  }
  const Tensor share = along(axis, x.ndim(), shares, x).astype(x.dtype());
  return lerp(indexed(x, below, axis), indexed(x, above, axis), share);
}

}  // namespace

Tensor embedding(Arg indices, Arg weight) {
  return composed(indices, weight, "embedding", [](const Tensor& rows, const Tensor& table) {
    if (table.ndim() != 2) fail("embedding", "weight ", describe(table), " is not (count, width)");
    return take(table, rows, 0);
  });
}

Tensor pixel_shuffle(Arg x, int64_t factor) {
  constexpr const char* kName = "pixel_shuffle";
  return composed(x, kName, [&](const Tensor& tensor) {
    if (tensor.ndim() < 3 || factor < 1 || tensor.shape(-3) % (factor * factor) != 0) {
      fail(kName, describe(tensor), " is not (.., channels * ", factor, " * ", factor,
           ", height, width)");
    }
    const int64_t channels = tensor.shape(-3) / (factor * factor);
    const int64_t height = tensor.shape(-2), width = tensor.shape(-1);
    int64_t batch = 1;
    for (int axis = 0; axis < tensor.ndim() - 3; ++axis) batch *= tensor.shape()[axis];
    frontend::Dims dims = frontend::dims_of(tensor);
    dims[dims.size() - 3] = channels;
    dims[dims.size() - 2] = height * factor;
    dims[dims.size() - 1] = width * factor;
    const Tensor parts = reshape(tensor, Shape{batch, channels, factor, factor, height, width});
    return reshape(permute(parts, {0, 1, 4, 2, 5, 3}), Shape(span_of(dims)));
  });
}

Tensor interpolate(Arg x, const Shape& size, std::string_view mode, bool align_corners) {
  constexpr const char* kName = "interpolate";
  return composed(x, kName, [&](const Tensor& tensor) {
    const int first = tensor.ndim() - size.rank();
    if (size.rank() < 1 || first < 0) {
      fail(kName, describe(tensor), " has not the ", size.rank(), " axes of the size ",
           to_string(size));
    }
    const bool is_linear = mode == "linear";
    if (!is_linear && mode != "nearest") {
      fail(kName, "mode \"", std::string(mode), "\" is neither \"nearest\" nor \"linear\"");
    }
    if (align_corners && !is_linear) fail(kName, "align_corners is for mode \"linear\" only");
    const DType result = is_linear ? float_type(tensor.dtype()) : tensor.dtype();
    Tensor values = is_linear ? astype(tensor, compute_type(result)) : tensor;
    for (int k = 0; k < size.rank(); ++k) {
      const int axis = first + k;
      if (size[k] == values.shape()[axis]) continue;
      if (values.shape()[axis] == 0) {
        fail(kName, "axis ", axis, " of ", describe(tensor), " is empty");
      }
      values =
          is_linear ? linear(values, axis, size[k], align_corners) : nearest(values, axis, size[k]);
    }
    return astype(std::move(values), result);
  });
}

}  // namespace sluice
