// Convolutions and pooling: what lies under each place of a window is a strided view.
#include <limits>
#include <utility>
#include <vector>

#include <sluice/autograd.h>
#include <sluice/creation.h>
#include <sluice/dtype_info.h>
#include <sluice/ops.h>
#include "frontend/autograd/tape.h"
#include "frontend/call.h"
#include "frontend/reduce.h"

namespace sluice {
namespace {

using frontend::describe;
using frontend::fail;
using frontend::with_call;
using fusion::Op;

// The windows along one axis.
struct Windows {
  int axis;  // counted from the end
  int64_t size, stride, dilation, count;

  // What lies under place `i` of each window.
  Tensor under(int64_t i, const Tensor& x) const {
    const int64_t begin = i * dilation;
    return slice(x, axis, begin, begin + (count - 1) * stride + 1, stride);
  }
};

struct Windows2d {
  Windows rows, columns;
};

// The windows over the last two axes of `x` padded by `padding`; throws if none fits.
Windows2d windows_of(const char* name, const Tensor& x, Pair window, Pair stride, Pair padding,
                     Pair dilation) {
  const auto along = [&](int axis, int64_t size, int64_t step, int64_t before, int64_t between) {
    if (size < 1 || step < 1 || between < 1 || before < 0) {
      fail(name, "a window of ", size, " with stride ", step, ", padding ", before,
           " and dilation ", between, " over axis ", axis + x.ndim(), " of ", describe(x));
    }
    const int64_t extent = x.shape(axis) + 2 * before;
    const int64_t reach = (size - 1) * between + 1;
    if (extent < reach) {
      fail(name, "a window that spans ", reach, " does not fit into axis ", axis + x.ndim(), " of ",
           describe(x), ", padded to ", extent);
    }
    return Windows{axis, size, step, between, (extent - reach) / step + 1};
  };
  return {along(-2, window.height, stride.height, padding.height, dilation.height),
          along(-1, window.width, stride.width, padding.width, dilation.width)};
}

Tensor padded(const Tensor& x, Pair padding, Scalar value) {
  if (padding.height == 0 && padding.width == 0) return x;
  std::vector<std::pair<int64_t, int64_t>> widths(x.ndim(), {0, 0});
  widths[x.ndim() - 2] = {padding.height, padding.height};
  widths[x.ndim() - 1] = {padding.width, padding.width};
  return pad(x, widths, value);
}

// Every window's elements of `x` joined by f: row by row in the end, so that extents are added and
// not multiplied.
template <typename F>
Tensor joined(const Tensor& x, const Windows& windows, F f) {
  Tensor all = windows.under(0, x);
  for (int64_t i = 1; i < windows.size; ++i) all = f(std::move(all), windows.under(i, x));
  return all;
}

// Windows that lie side by side are axes of a reshaped view.
Tensor reduced(const char* name, Op op, const Tensor& x, const Windows2d& windows) {
  const auto& [rows, columns] = windows;
  const std::span<const int64_t> dims = x.shape();
  std::vector<int64_t> extents(dims.begin(), dims.end() - 2);
  for (const Windows& w : {rows, columns}) extents.insert(extents.end(), {w.count, w.size});
  const Tensor cut = slice(slice(x, rows.axis, 0, rows.count * rows.size), columns.axis, 0,
                           columns.count * columns.size);
  const int rank = static_cast<int>(extents.size());
  return frontend::reduce(name, op, reshape(cut, Shape(extents)), {rank - 3, rank - 1}, false,
                          x.dtype());
}

// `x` padded, its windows reduced by `op` or joined by f, which is the same.
template <typename F>
Tensor pooled(const char* name, Op op, const Tensor& x, const Windows2d& windows, F f) {
  const bool side_by_side = windows.rows.stride == windows.rows.size &&
                            windows.columns.stride == windows.columns.size && x.ndim() <= 6;
  if (side_by_side) return reduced(name, op, x, windows);
  return joined(joined(x, windows.rows, f), windows.columns, f);
}

// What pooling checks of its operand and options.
Windows2d pooling_windows(const char* name, const Tensor& x, Pair window,
                          const Pool2dOptions& options) {
  if (x.ndim() < 2) fail(name, describe(x), " has not the axes (.., height, width)");
  const Pair stride(options.stride.height == 0 ? window.height : options.stride.height,
                    options.stride.width == 0 ? window.width : options.stride.width);
  const Windows2d windows = windows_of(name, x, window, stride, options.padding, 1);
  if (2 * options.padding.height > window.height || 2 * options.padding.width > window.width) {
    fail(name, "padding (", options.padding.height, ", ", options.padding.width,
         ") is more than half of the window (", window.height, ", ", window.width, ")");
  }
  return windows;
}

// What every value of a dtype wins against.
Scalar least(DType dtype) {
  if (is_float(dtype)) return -std::numeric_limits<double>::infinity();
  return dtype == DType::kBool ? 0 : iinfo(dtype).min;
}

// What each channel's filters (o, 1, kh, kw) make of it: of `parts` (n, c, oh, ow), one for each
// place in a window, (n, c, o / c, oh, ow). Sums of so few terms fuse with what surrounds them.
Tensor depthwise(const std::vector<Tensor>& parts, const Tensor& filters, int64_t channels) {
  const DType dtype = compute_type(filters.dtype());
  const auto places = static_cast<int64_t>(parts.size());
  const Tensor factors =
      astype(reshape(filters, {channels, filters.shape(0) / channels, 1, 1, places}), dtype);
  Tensor sum;
  for (int64_t k = 0; k < places; ++k) {
    Tensor term = astype(expand_dims(parts[k], 2), dtype) * squeeze(slice(factors, 4, k, k + 1), 4);
    sum = k == 0 ? std::move(term) : std::move(sum) + std::move(term);
  }
  return astype(std::move(sum), filters.dtype());
}

// What lies under a filter at each of its places, of images that are padded: (n, c, oh, ow) each.
std::vector<Tensor> parts_of(const Tensor& all, const Windows2d& windows) {
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < windows.rows.size; ++i) {
    for (int64_t j = 0; j < windows.columns.size; ++j) {
      parts.push_back(windows.columns.under(j, windows.rows.under(i, all)));
    }
  }
  return parts;
}

// Those as columns, channel by channel: (n, groups, c / groups * kh * kw, oh * ow).
Tensor columns_of(const std::vector<Tensor>& parts, int64_t groups) {
  const auto [batch, channels, rows, columns] = parts[0].shape().as<4>();
  const Tensor all = parts.size() == 1 ? parts[0] : stack(parts, 2);
  const int64_t terms = channels / groups * static_cast<int64_t>(parts.size());
  return reshape(all, {batch, groups, terms, rows * columns});
}

Tensor convolved(const Tensor& all, const Tensor& filters, const Windows2d& windows,
                 int64_t groups) {
  const auto [outputs, inputs, height, width] = filters.shape().as<4>();
  const Shape result{all.shape(0), outputs, windows.rows.count, windows.columns.count};
  const std::vector<Tensor> parts = parts_of(all, windows);
  if (inputs == 1) return reshape(depthwise(parts, filters, groups), result);
  // One product a group: its filters by what lies under them.
  const Shape by_group{groups, outputs / groups, inputs * height * width};
  return reshape(matmul(reshape(filters, by_group), columns_of(parts, groups)), result);
}

// By filters of several places that are one step apart. The rules of its parts would add up a
// padded gradient for each place; by the images it is a convolution itself.
Tensor with_gradients(const Tensor& images, const Tensor& filters, const Windows2d& windows,
                      const Conv2dOptions& options) {
  // The same tensor for both passes, so that what lies under the windows is gathered once.
  Tensor constant;
  {
    const NoGrad guard;
    constant = padded(images, options.padding, 0);
  }
  const int64_t groups = options.groups;
  return detail::with_custom_gradient(
      [&](std::span<const Tensor> xs) { return convolved(constant, xs[1], windows, groups); },
      [=](const Tensor& g, std::span<const Tensor> xs) {
        Tensor by_images, by_filters;
        if (xs[0].needs_grad()) {
          by_images = conv_transpose2d(
              g, xs[1],
              {.padding = options.padding, .dilation = options.dilation, .groups = groups});
        }
        if (xs[1].needs_grad()) {
          const bool is_differentiable = frontend::grad_mode.is_on && xs[0].needs_grad();
          const Tensor all = is_differentiable ? padded(xs[0], options.padding, 0) : constant;
          const Tensor columns = columns_of(parts_of(all, windows), groups);
          const Tensor sides =
              reshape(g, {g.shape(0), groups, g.shape(1) / groups, g.shape(2) * g.shape(3)});
          by_filters = reshape(sum(matmul(sides, swapaxes(columns, 2, 3)), 0), xs[1].shape());
        }
        return std::vector<Tensor>{by_images, by_filters};
      },
      {images, filters});
}

}  // namespace

Tensor max_pool2d(Arg x, Pair window, const Pool2dOptions& options) {
  constexpr const char* kName = "max_pool2d";
  return with_call(x, kName, [&](const Tensor& tensor) {
    const Windows2d windows = pooling_windows(kName, tensor, window, options);
    const Tensor all = padded(tensor, options.padding, least(tensor.dtype()));
    return pooled(kName, Op::kMax, all, windows,
                  [](Tensor a, Tensor b) { return maximum(std::move(a), std::move(b)); });
  });
}

Tensor avg_pool2d(Arg x, Pair window, const Pool2dOptions& options) {
  constexpr const char* kName = "avg_pool2d";
  return with_call(x, kName, [&](const Tensor& tensor) {
    const Windows2d windows = pooling_windows(kName, tensor, window, options);
    const DType result = float_type(tensor.dtype());
    const auto sums = [&](const Tensor& values) {
      return pooled(kName, Op::kSum, padded(values, options.padding, 0), windows,
                    [](Tensor a, Tensor b) { return std::move(a) + std::move(b); });
    };
    Tensor sum = sums(astype(tensor, compute_type(result)));
    const bool whole =
        options.count_include_pad || (options.padding.height == 0 && options.padding.width == 0);
    if (whole) {
      const auto count = static_cast<double>(window.height * window.width);
      return astype(std::move(sum) / Scalar(count), result);
    }
    const Tensor ones =
        full(Shape{tensor.shape(-2), tensor.shape(-1)}, 1, sum.dtype(), tensor.device());
    return astype(std::move(sum) / sums(ones), result);
  });
}

Tensor conv2d(Arg x, Arg weight, const Conv2dOptions& options) {
  constexpr const char* kName = "conv2d";
  return with_call(x, weight, kName, [&](const Tensor& images, const Tensor& kernels) {
    const auto told = [&] { return describe(images) + " and weight " + describe(kernels); };
    if (images.ndim() != 4 || kernels.ndim() != 4) {
      fail(kName, told(), " are not (n, c, h, w) and (o, c / groups, kh, kw)");
    }
    const int64_t groups = options.groups, inputs = kernels.shape(1), outputs = kernels.shape(0);
    if (groups < 1 || images.shape(1) != inputs * groups || outputs % groups != 0) {
      fail(kName, told(), " do not agree in channels for ", groups, " groups");
    }
    const DType dtype = promote(images.dtype(), kernels.dtype());
    if (dtype == DType::kBool) fail(kName, "is not defined for bool: ", told());
    const int64_t height = kernels.shape(2), width = kernels.shape(3);
    const Windows2d windows = windows_of(kName, images, {height, width}, options.stride,
                                         options.padding, options.dilation);
    const Tensor pixels = astype(images, dtype), filters = astype(kernels, dtype);
    const bool has_own_gradient = (pixels.needs_grad() || filters.needs_grad()) && inputs > 1 &&
                                  height * width > 1 && options.stride.height == 1 &&
                                  options.stride.width == 1;
    if (has_own_gradient) return with_gradients(pixels, filters, windows, options);
    return convolved(padded(pixels, options.padding, 0), filters, windows, groups);
  });
}

}  // namespace sluice
