// Layers that move elements.
#include <utility>

#include <sluice/ops.h>
#include "frontend/composed/compose.h"
#include "frontend/dims.h"

namespace sluice {
namespace {

using frontend::composed;
using frontend::describe;
using frontend::Dims;
using frontend::fail;
using frontend::span_of;

// The extents before the last `count` axes as one.
int64_t leading(const Tensor& x, int count) {
  int64_t leading = 1;
  for (int axis = 0; axis < x.ndim() - count; ++axis) leading *= x.shape()[axis];
  return leading;
}

// x's shape but for its last three extents.
Shape with_last(const Tensor& x, int64_t channels, int64_t height, int64_t width) {
  Dims dims = frontend::dims_of(x);
  const size_t rank = dims.size();
  dims[rank - 3] = channels;
  dims[rank - 2] = height;
  dims[rank - 1] = width;
  return Shape(span_of(dims));
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
    const Tensor parts =
        reshape(tensor, Shape{leading(tensor, 3), channels, factor, factor, height, width});
    return reshape(permute(parts, {0, 1, 4, 2, 5, 3}),
                   with_last(tensor, channels, height * factor, width * factor));
  });
}

Tensor pixel_unshuffle(Arg x, int64_t factor) {
  constexpr const char* kName = "pixel_unshuffle";
  return composed(x, kName, [&](const Tensor& tensor) {
    if (tensor.ndim() < 3 || factor < 1 || tensor.shape(-2) % factor != 0 ||
        tensor.shape(-1) % factor != 0) {
      fail(kName, describe(tensor), " is not (.., channels, height * ", factor, ", width * ",
           factor, ")");
    }
    const int64_t channels = tensor.shape(-3);
    const int64_t height = tensor.shape(-2) / factor, width = tensor.shape(-1) / factor;
    const Tensor parts =
        reshape(tensor, Shape{leading(tensor, 3), channels, height, factor, width, factor});
    return reshape(permute(parts, {0, 1, 3, 5, 2, 4}),
                   with_last(tensor, channels * factor * factor, height, width));
  });
}

Tensor channel_shuffle(Arg x, int64_t groups) {
  constexpr const char* kName = "channel_shuffle";
  return composed(x, kName, [&](const Tensor& tensor) {
    if (tensor.ndim() < 2 || groups < 1 || tensor.shape(1) % groups != 0) {
      fail(kName, describe(tensor), " is not (n, ", groups, " * channels, ..)");
    }
    Dims dims = frontend::dims_of(tensor);
    frontend::check_rank(kName, dims.size() + 1, tensor);
    dims[1] /= groups;
    dims.insert(dims.begin() + 1, groups);
    return reshape(swapaxes(reshape(tensor, Shape(span_of(dims))), 1, 2), tensor.shape());
  });
}

}  // namespace sluice
