// Convolutions, by a library or composed: what lies under each place of a filter is a strided view
// of the images, and these are columns of a product.
#include <algorithm>
#include <utility>
#include <vector>

#include <sluice/autograd.h>
#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/autograd/tape.h"
#include "frontend/composed/compose.h"
#include "frontend/layers/library_convolution.h"
#include "frontend/layers/windows.h"

namespace sluice {
namespace {

using frontend::columns_of;
using frontend::composed;
using frontend::describe;
using frontend::Extents;
using frontend::extents_of;
using frontend::fail;
using frontend::parts_of;
using frontend::product_of;
using frontend::spread;
using frontend::text_of;
using frontend::window_of;
using frontend::WindowList;
using frontend::Windows;
using fusion::Op;

// Of filters of one channel kernels of what is composed make more than a library, up to so many
// terms for each point of the images.
constexpr int64_t kMostTerms = 64;

// (a, b, extents..).
Shape with_extents(int64_t a, int64_t b, const Extents& extents) {
  std::vector<int64_t> dims{a, b};
  dims.insert(dims.end(), extents.begin(), extents.end());
  return Shape(dims);
}

// What each channel's filters (o, 1, window..) make of it: of `parts` (n, c, places..), one for
// each place in a window, (n, c, o / c, places..). Sums of so few terms fuse with what surrounds
// them.
Tensor depthwise(const std::vector<Tensor>& parts, const Tensor& filters, int64_t channels) {
  const DType dtype = compute_type(filters.dtype());
  const auto places = static_cast<int64_t>(parts.size());
  std::vector<int64_t> dims(filters.ndim() + 1, 1);
  dims[0] = channels;
  dims[1] = filters.shape(0) / channels;
  dims.back() = places;
  const Tensor factors = astype(reshape(filters, Shape(dims)), dtype);
  Tensor sum;
  for (int64_t k = 0; k < places; ++k) {
    Tensor term =
        astype(expand_dims(parts[k], 2), dtype) * squeeze(slice(factors, -1, k, k + 1), -1);
    sum = k == 0 ? std::move(term) : std::move(sum) + std::move(term);
  }
  return astype(std::move(sum), filters.dtype());
}

// A convolution, of filters (o, c / groups, window..).
struct Convolution {
  WindowList windows;
  int64_t groups;

  Shape result_shape(const Tensor& images, const Tensor& filters) const {
    return with_extents(images.shape(0), filters.shape(0), frontend::counts_of(windows));
  }

  // Of images that are padded.
  Tensor of_padded(const Tensor& all, const Tensor& filters) const {
    const Shape result = result_shape(all, filters);
    const std::vector<Tensor> parts = parts_of(all, windows);
    if (filters.shape(1) == 1) return reshape(depthwise(parts, filters, groups), result);
    // One product a group: its filters by what lies under them.
    const Shape by_group{groups, filters.shape(0) / groups,
                         filters.shape(1) * product_of(window_of(filters))};
    return reshape(matmul(reshape(filters, by_group), columns_of(parts, groups)), result);
  }
};

// The images whose convolution by `filters` (c, o / groups, window..) of places (n, c, extents..)
// has these as its gradient. `last`: elements more at their ends.
struct Transposed {
  Extents stride, padding, dilation, last;
  int64_t groups;

  std::vector<frontend::WindowSteps> steps() const {
    std::vector<frontend::WindowSteps> steps;
    for (size_t i = 0; i < stride.size(); ++i) {
      steps.push_back({stride[i], dilation[i], padding[i], padding[i]});
    }
    return steps;
  }
  Extents extents(const Tensor& places, const Extents& window) const {
    Extents result;
    for (size_t i = 0; i < window.size(); ++i) {
      result.push_back((places.shape()[2 + i] - 1) * stride[i] + (window[i] - 1) * dilation[i] + 1 -
                       2 * padding[i] + last[i]);
    }
    return result;
  }
};

std::vector<frontend::WindowSteps> steps_of(const WindowList& windows) {
  std::vector<frontend::WindowSteps> steps;
  for (const Windows& along : windows) {
    steps.push_back({along.stride, along.dilation, along.before, along.after});
  }
  return steps;
}

// Composed: what it would step over are zeros, and its windows hold their weights in reverse.
Tensor transposed(const char* name, const Tensor& places, const Tensor& filters,
                  const Transposed& options) {
  const Extents window = window_of(filters);
  const auto axes = static_cast<int>(window.size());
  Tensor wide = places;
  WindowList around;
  std::vector<int> flipped;
  for (int i = 0; i < axes; ++i) {
    wide = spread(wide, 2 + i, options.stride[i]);
    const int64_t rest = options.dilation[i] * (window[i] - 1) - options.padding[i];
    around.push_back({.axis = i - axes,
                      .size = 1,
                      .stride = 1,
                      .dilation = 1,
                      .before = rest,
                      .after = rest + options.last[i],
                      .count = 0});
    flipped.push_back(2 + i);
  }
  wide = frontend::padded(wide, around, 0);
  const int64_t groups = options.groups, inputs = filters.shape(0), outputs = filters.shape(1);
  Extents by_group{inputs / groups, outputs};
  by_group.insert(by_group.end(), window.begin(), window.end());
  std::vector<int64_t> dims{groups};
  dims.insert(dims.end(), by_group.begin(), by_group.end());
  const Tensor turned = reshape(swapaxes(reshape(filters, Shape(dims)), 1, 2),
                                with_extents(groups * outputs, inputs / groups, window));
  const Extents ones(axes, 1), zeros(axes, 0);
  const Convolution convolution{
      frontend::windows_of(name, wide, {window, ones, zeros, options.dilation}), groups};
  return convolution.of_padded(wide, flip(turned, flipped));
}

// By filters of several places that are one step apart. The rules of its parts would add up a
// padded gradient for each place; by the images it is a convolution itself.
Tensor with_gradients(const char* name, const Tensor& images, const Tensor& filters,
                      const Convolution& convolution) {
  // The same tensor for both passes, so that what lies under the windows is gathered once.
  Tensor constant;
  {
    const NoGrad guard;
    constant = frontend::padded(images, convolution.windows, 0);
  }
  Transposed by_images{
      .stride = {}, .padding = {}, .dilation = {}, .last = {}, .groups = convolution.groups};
  for (const Windows& along : convolution.windows) {
    by_images.stride.push_back(1);
    by_images.padding.push_back(along.before);
    by_images.dilation.push_back(along.dilation);
    by_images.last.push_back(along.before - along.after);
  }
  return detail::with_custom_gradient(
      [&](std::span<const Tensor> xs) { return convolution.of_padded(constant, xs[1]); },
      [=](const Tensor& g, std::span<const Tensor> xs) {
        const int64_t groups = convolution.groups;
        Tensor of_images, of_filters;
        if (xs[0].needs_grad()) of_images = transposed(name, g, xs[1], by_images);
        if (xs[1].needs_grad()) {
          const bool is_differentiable = frontend::grad_mode.is_on && xs[0].needs_grad();
          const Tensor all =
              is_differentiable ? frontend::padded(xs[0], convolution.windows, 0) : constant;
          const Tensor columns = columns_of(parts_of(all, convolution.windows), groups);
          const Tensor sides =
              reshape(g, {g.shape(0), groups, g.shape(1) / groups, columns.shape(3)});
          of_filters = reshape(sum(matmul(sides, swapaxes(columns, 2, 3)), 0), xs[1].shape());
        }
        return std::vector<Tensor>{of_images, of_filters};
      },
      {images, filters});
}

// What both kinds check: images and filters of so many axes, whose channels agree. `is_transposed`:
// filters are (c, o / groups, window..), not (o, c / groups, window..).
void check_operands(const char* name, const Tensor& images, const Tensor& filters, size_t axes,
                    int64_t groups, bool is_transposed) {
  const auto told = [&] { return describe(images) + " and weight " + describe(filters); };
  const int rank = 2 + static_cast<int>(axes);
  constexpr const char* kAxes[][2] = {
      {"length", "k"}, {"h, w", "kh, kw"}, {"d, h, w", "kd, kh, kw"}};
  if (images.ndim() != rank || filters.ndim() != rank) {
    fail(name, told(), " are not (n, c, ", kAxes[axes - 1][0], ") and ",
         is_transposed ? "(c, o / groups, " : "(o, c / groups, ", kAxes[axes - 1][1], ")");
  }
  const int64_t ours = images.shape(1);
  const bool agree = groups >= 1 && filters.shape(0) % groups == 0 &&
                     (is_transposed ? filters.shape(0) == ours : filters.shape(1) * groups == ours);
  if (!agree) fail(name, told(), " do not agree in channels for ", groups, " groups");
  if (promote(images.dtype(), filters.dtype()) == DType::kBool) {
    fail(name, "is not defined for bool: ", told());
  }
}

template <typename E>
Tensor convolve(const char* name, const Arg& x, const Arg& weight, const ConvOptions<E>& options) {
  return composed(x, weight, name, [&](const Tensor& images, const Tensor& kernels) {
    const Extents stride = extents_of(options.stride);
    const int64_t groups = options.groups;
    check_operands(name, images, kernels, stride.size(), groups, false);
    const Convolution convolution{
        frontend::windows_of(name, images, frontend::window_extents(window_of(kernels), options)),
        groups};
    const DType dtype = promote(images.dtype(), kernels.dtype());
    const Tensor pixels = astype(images, dtype), filters = astype(kernels, dtype);
    const int64_t inputs = filters.shape(1), outputs = filters.shape(0);
    const int64_t places = product_of(window_of(filters));
    // Filters of one place are factors of a product, and few of one channel have few terms, which
    // fuse with what is around them.
    const bool is_for_library = places > 1 && (inputs > 1 || outputs * places > kMostTerms);
    if (is_for_library && frontend::can_convolve(pixels, filters)) {
      return frontend::convolution(name, Op::kConvolution, pixels, filters,
                                   convolution.result_shape(pixels, filters),
                                   steps_of(convolution.windows), groups);
    }
    const bool has_own_gradient =
        (pixels.needs_grad() || filters.needs_grad()) && inputs > 1 && places > 1 &&
        std::all_of(stride.begin(), stride.end(), [](int64_t step) { return step == 1; });
    if (has_own_gradient) return with_gradients(name, pixels, filters, convolution);
    return convolution.of_padded(frontend::padded(pixels, convolution.windows, 0), filters);
  });
}

template <typename E>
Tensor convolve_transposed(const char* name, const Arg& x, const Arg& weight,
                           const ConvTransposeOptions<E>& all) {
  return composed(x, weight, name, [&](const Tensor& images, const Tensor& kernels) {
    const Transposed options{.stride = extents_of(all.stride),
                             .padding = extents_of(all.padding),
                             .dilation = extents_of(all.dilation),
                             .last = extents_of(all.output_padding),
                             .groups = all.groups};
    const auto& [stride, padding, dilation, last, groups] = options;
    check_operands(name, images, kernels, stride.size(), groups, true);
    // Windows that lie beyond the last place are none of the convolution's.
    bool is_for_library = true;
    for (size_t i = 0; i < stride.size(); ++i) {
      if (stride[i] < 1 || dilation[i] < 1 || last[i] < 0 || padding[i] < 0 ||
          last[i] >= std::max(stride[i], dilation[i])) {
        fail(name, "stride ", text_of(stride), ", padding ", text_of(padding), ", dilation ",
             text_of(dilation), " and output padding ", text_of(last),
             ": the first and the third must be positive, the others not negative, and the last "
             "less than either");
      }
      is_for_library &= last[i] < stride[i];
    }
    const Extents window = window_of(kernels), extents = options.extents(images, window);
    for (const int64_t extent : extents) is_for_library &= extent > 0;
    const DType dtype = promote(images.dtype(), kernels.dtype());
    const Tensor places = astype(images, dtype), filters = astype(kernels, dtype);
    if (is_for_library && frontend::can_convolve(places, filters)) {
      return frontend::convolution(
          name, Op::kConvolutionImages, places, filters,
          with_extents(places.shape(0), filters.shape(1) * groups, extents), options.steps(),
          groups);
    }
    return transposed(name, places, filters, options);
  });
}

}  // namespace

Tensor conv1d(Arg x, Arg weight, const Conv1dOptions& options) {
  return convolve("conv1d", x, weight, options);
}
Tensor conv2d(Arg x, Arg weight, const Conv2dOptions& options) {
  return convolve("conv2d", x, weight, options);
}
Tensor conv3d(Arg x, Arg weight, const Conv3dOptions& options) {
  return convolve("conv3d", x, weight, options);
}

Tensor conv_transpose1d(Arg x, Arg weight, const ConvTranspose1dOptions& options) {
  return convolve_transposed("conv_transpose1d", x, weight, options);
}
Tensor conv_transpose2d(Arg x, Arg weight, const ConvTranspose2dOptions& options) {
  return convolve_transposed("conv_transpose2d", x, weight, options);
}
Tensor conv_transpose3d(Arg x, Arg weight, const ConvTranspose3dOptions& options) {
  return convolve_transposed("conv_transpose3d", x, weight, options);
}

}  // namespace sluice
