// Windows over one axis, and transposed convolutions, by those over two axes.
#include <algorithm>
#include <utility>
#include <vector>

#include <sluice/ops.h>
#include "frontend/composed/compose.h"

namespace sluice {
namespace {

using frontend::composed;
using frontend::describe;
using frontend::fail;

// x (.., length) as (.., 1, length).
Tensor as_rows(const char* name, const Tensor& x, int rank) {
  if (x.ndim() < rank) fail(name, describe(x), " has fewer than ", rank, " axes");
  return expand_dims(x, -2);
}

Pool2dOptions of_rows(int64_t window, const Pool1dOptions& options) {
  return {.stride = {1, options.stride == 0 ? window : options.stride},
          .padding = {0, options.padding},
          .count_include_pad = options.count_include_pad};
}

// `count` zeros, or -count elements fewer, at either end of an axis.
Tensor padded(Tensor x, int axis, int64_t before, int64_t after) {
  std::vector<std::pair<int64_t, int64_t>> widths(x.ndim(), {0, 0});
  widths[axis] = {std::max<int64_t>(before, 0), std::max<int64_t>(after, 0)};
  if (before > 0 || after > 0) x = pad(x, widths);
  const int64_t extent = x.shape()[axis];
  return slice(x, axis, std::max<int64_t>(-before, 0),
               std::max<int64_t>(extent + std::min<int64_t>(after, 0), 0));
}

// x with stride - 1 zeros between its elements along an axis.
Tensor spread(const Tensor& x, int axis, int64_t stride) {
  if (stride == 1 || x.shape()[axis] == 0) return x;
  std::vector<int64_t> dims(x.shape().begin(), x.shape().end());
  const int64_t extent = dims[axis];
  dims[axis] = extent * stride;
  const Tensor wide = padded(expand_dims(x, axis + 1), axis + 1, 0, stride - 1);
  return slice(reshape(wide, dims), axis, 0, (extent - 1) * stride + 1);
}

}  // namespace

Tensor max_pool1d(Arg x, int64_t window, const Pool1dOptions& options) {
  return composed(x, "max_pool1d", [&](const Tensor& tensor) {
    return squeeze(
        max_pool2d(as_rows("max_pool1d", tensor, 1), {1, window}, of_rows(window, options)), -2);
  });
}

Tensor avg_pool1d(Arg x, int64_t window, const Pool1dOptions& options) {
  return composed(x, "avg_pool1d", [&](const Tensor& tensor) {
    return squeeze(
        avg_pool2d(as_rows("avg_pool1d", tensor, 1), {1, window}, of_rows(window, options)), -2);
  });
}

Tensor conv1d(Arg x, Arg weight, const Conv1dOptions& options) {
  return composed(x, weight, "conv1d", [&](const Tensor& signals, const Tensor& kernels) {
    if (signals.ndim() != 3 || kernels.ndim() != 3) {
      fail("conv1d", describe(signals), " and weight ", describe(kernels),
           " are not (n, c, length) and (o, c / groups, k)");
    }
    const Conv2dOptions rows{.stride = {1, options.stride},
                             .padding = {0, options.padding},
                             .dilation = {1, options.dilation},
                             .groups = options.groups};
    return squeeze(conv2d(expand_dims(signals, 2), expand_dims(kernels, 2), rows), 2);
  });
}

Tensor conv_transpose2d(Arg x, Arg weight, const ConvTranspose2dOptions& options) {
  constexpr const char* kName = "conv_transpose2d";
  return composed(x, weight, kName, [&](const Tensor& images, const Tensor& kernels) {
    const auto told = [&] { return describe(images) + " and weight " + describe(kernels); };
    if (images.ndim() != 4 || kernels.ndim() != 4) {
      fail(kName, told(), " are not (n, c, h, w) and (c, o / groups, kh, kw)");
    }
    const auto& [stride, padding, more, dilation, groups] = options;
    const auto [inputs, outputs, height, width] = kernels.shape().as<4>();
    if (groups < 1 || images.shape(1) != inputs || inputs % groups != 0) {
      fail(kName, told(), " do not agree in channels for ", groups, " groups");
    }
    if (stride.height < 1 || stride.width < 1 || dilation.height < 1 || dilation.width < 1 ||
        more.height < 0 || more.width < 0 ||
        more.height >= std::max(stride.height, dilation.height) ||
        more.width >= std::max(stride.width, dilation.width)) {
      fail(kName, "stride (", stride.height, ", ", stride.width, "), dilation (", dilation.height,
           ", ", dilation.width, ") and output padding (", more.height, ", ", more.width,
           "): the first two must be positive, the last less than either");
    }
    // The gradient of conv2d with regard to its images: what it would step over are zeros, and its
    // windows hold their weights in reverse.
    Tensor wide = spread(spread(images, 2, stride.height), 3, stride.width);
    const int64_t rows = dilation.height * (height - 1) - padding.height;
    const int64_t columns = dilation.width * (width - 1) - padding.width;
    wide = padded(std::move(wide), 2, rows, rows + more.height);
    wide = padded(std::move(wide), 3, columns, columns + more.width);
    const Tensor by_group =
        reshape(kernels, Shape{groups, inputs / groups, outputs, height, width});
    const Tensor filters =
        reshape(swapaxes(by_group, 1, 2), Shape{groups * outputs, inputs / groups, height, width});
    return conv2d(wide, flip(filters, {2, 3}), {.dilation = dilation, .groups = groups});
  });
}

}  // namespace sluice
