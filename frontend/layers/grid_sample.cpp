// Images at places that a tensor says.
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/composed/compose.h"
#include "frontend/dims.h"
#include "frontend/layers/cubic.h"

namespace sluice {
namespace {

using frontend::composed;
using frontend::describe;
using frontend::Dims;
using frontend::fail;
using frontend::span_of;

enum class Mode { kNearest, kLinear, kCubic };
enum class Outside { kZeros, kBorder, kReflection };

Mode mode_of(const char* name, std::string_view mode) {
  if (mode == "nearest") return Mode::kNearest;
  if (mode == "linear" || mode == "bilinear") return Mode::kLinear;
  if (mode == "cubic" || mode == "bicubic") return Mode::kCubic;
  fail(name, "mode \"", std::string(mode), "\" is none of \"nearest\", \"linear\" and \"cubic\"");
}
Outside outside_of(const char* name, std::string_view padding) {
  if (padding == "zeros") return Outside::kZeros;
  if (padding == "border") return Outside::kBorder;
  if (padding == "reflection") return Outside::kReflection;
  fail(name, "padding \"", std::string(padding),
       "\" is none of \"zeros\", \"border\" and \"reflection\"");
}

// One axis of the image.
struct Axis {
  int64_t extent;
  DType index;  // kInt32, which is faster, if all elements of the images have such indices
  bool align_corners;
  Outside outside;

  // Where `places` from -1 to 1 lie among the elements.
  Tensor located(const Tensor& places) const {
    const auto count = static_cast<double>(extent);
    const Tensor from_edge = places + 1.0;
    return align_corners ? from_edge * ((count - 1) / 2) : (from_edge * count - 1.0) * 0.5;
  }
  // Those that are brought to where there are elements.
  Tensor brought_inside(const Tensor& at) const {
    if (outside == Outside::kZeros) return at;
    const double last = static_cast<double>(extent - 1);
    return clip(outside == Outside::kBorder ? at : reflected(at), 0.0, last);
  }
  // At the first and the last element's centre, or at their outer edges, as often as need be.
  Tensor reflected(const Tensor& at) const {
    const double low = align_corners ? 0 : -0.5;
    const double span = static_cast<double>(extent) - (align_corners ? 1 : 0);
    if (span == 0) return at * 0.0;
    const Tensor beyond = abs(at - low);
    const Tensor rest = fmod(beyond, span), turns = floor(beyond / span);
    return where(fmod(turns, 2.0) == 0.0, rest, span - rest) + low;
  }
};

// For each place an element along an axis, and its weight.
struct Tap {
  Tensor index;   // within the axis
  Tensor inside;  // whether there is such an element; not defined if there always is
  Tensor weight;  // not defined: 1
};

Tap tap_at(const Axis& axis, const Tensor& at, Tensor weight) {
  const double last = static_cast<double>(axis.extent - 1);
  Tap tap{
      .index = astype(clip(at, 0.0, last), axis.index), .inside = {}, .weight = std::move(weight)};
  if (axis.outside == Outside::kZeros) tap.inside = (at >= 0.0) & (at <= last);
  return tap;
}

std::vector<Tap> taps_of(const Axis& axis, const Tensor& places, Mode mode) {
  const Tensor at = axis.located(places);
  if (mode == Mode::kNearest) return {tap_at(axis, round(axis.brought_inside(at)), {})};
  if (mode == Mode::kLinear) {
    const Tensor inside = axis.brought_inside(at), below = floor(inside);
    const Tensor share = inside - below;
    return {tap_at(axis, below, 1.0 - share), tap_at(axis, below + 1.0, share)};
  }
  // Elements are brought inside, not the place: the weights are of the image as it goes on.
  const Tensor below = floor(at), share = at - below;
  const auto weights = frontend::cubic_weights(share, frontend::kCubicSlope);
  std::vector<Tap> taps;
  for (int k = 0; k < 4; ++k) {
    taps.push_back(tap_at(axis, axis.brought_inside(below + (k - 1.0)), weights[k]));
  }
  return taps;
}

Tensor both(const Tensor& a, const Tensor& b) {
  if (!a.defined()) return b;
  return b.defined() ? a & b : a;
}
Tensor product(const Tensor& a, const Tensor& b) {
  if (!a.defined()) return b;
  return b.defined() ? a * b : a;
}

// Each combination of a tap of every axis, indices counted along all axes as one.
std::vector<Tap> combined(const std::vector<Axis>& axes, const std::vector<Tensor>& places,
                          Mode mode) {
  std::vector<Tap> all;
  for (size_t i = 0; i < axes.size(); ++i) {
    const std::vector<Tap> along = taps_of(axes[i], places[i], mode);
    if (i == 0) {
      all = along;
      continue;
    }
    std::vector<Tap> next;
    for (const Tap& outer : all) {
      for (const Tap& inner : along) {
        next.push_back({.index = outer.index * axes[i].extent + inner.index,
                        .inside = both(outer.inside, inner.inside),
                        .weight = product(outer.weight, inner.weight)});
      }
    }
    all = std::move(next);
  }
  return all;
}

// So many channels are worth to be brought side by side.
constexpr int64_t kLeastRun = 8;

// (n, c, places..).
Tensor sampled(const Tensor& images, const Tensor& grid, Mode mode, Outside outside,
               bool align_corners) {
  const int rank = images.ndim() - 2;
  const DType dtype = compute_type(images.dtype());
  const int64_t batch = images.shape(0), channels = images.shape(1);
  std::vector<Axis> axes;
  std::vector<Tensor> places;
  const bool is_small = images.numel() <= std::numeric_limits<int32_t>::max();
  const DType index = is_small ? DType::kInt32 : DType::kInt64;
  int64_t pixels = 1, count = 1;
  for (int i = 0; i < rank; ++i) count *= grid.shape(1 + i);
  for (int i = 0; i < rank; ++i) {
    axes.push_back({images.shape(2 + i), index, align_corners, outside});
    pixels *= images.shape(2 + i);
    // The grid's are x, y, z.
    const int64_t from = rank - 1 - i;
    places.push_back(reshape(astype(slice(grid, -1, from, from + 1), dtype), {batch, 1, count}));
  }
  const Tensor lines = reshape(images, {batch, channels, pixels});
  // (n, count, c): a place is found once for all its channels, and they are read in one run.
  const bool by_runs = channels >= kLeastRun;
  const Tensor runs =
      by_runs ? reshape(swapaxes(lines, 1, 2), {batch * pixels, channels}) : Tensor();
  const Tensor first = reshape(arange(0, batch, 1, index, images.device()), {batch, 1, 1});
  const auto beside_runs = [&](const Tensor& x) {
    return by_runs && x.defined() ? reshape(x, {batch, count, 1}) : x;
  };
  Tensor sum;
  for (const Tap& tap : combined(axes, places, mode)) {
    Tensor values =
        by_runs ? take(runs, reshape(tap.index + first * pixels, {batch, count}), 0)
                : take_along_axis(lines, broadcast_to(tap.index, {batch, channels, count}), 2);
    values = astype(std::move(values), dtype);
    if (tap.inside.defined()) values = where(beside_runs(tap.inside), std::move(values), 0.0);
    values = product(values, beside_runs(tap.weight));
    sum = sum.defined() ? std::move(sum) + std::move(values) : std::move(values);
  }
  return by_runs ? swapaxes(sum, 1, 2) : sum;
}

// What both check: (n, c) and two or three spatial axes.
int spatial_axes(const char* name, const std::string& told, int rank) {
  if (rank != 4 && rank != 5) fail(name, told, " has not the axes (n, c, h, w) or (n, c, d, h, w)");
  return rank - 2;
}

// `count` places of an axis, from -1 to 1: the elements' centres.
Tensor centres(int64_t count, bool align_corners, DType dtype, Device device) {
  const auto all = static_cast<double>(count);
  if (align_corners) {
    return count > 1 ? linspace(-1, 1, count, dtype, device) : zeros({count}, dtype, device);
  }
  return linspace(1 / all - 1, 1 - 1 / all, count, dtype, device);
}

}  // namespace

Tensor affine_grid(Arg theta, const Shape& size, bool align_corners) {
  constexpr const char* kName = "affine_grid";
  return composed(theta, kName, [&](const Tensor& matrices) {
    const int rank = spatial_axes(kName, "size " + to_string(size), size.rank());
    if (matrices.ndim() != 3 || matrices.shape(0) != size[0] || matrices.shape(1) != rank ||
        matrices.shape(2) != rank + 1) {
      fail(kName, "theta ", describe(matrices), " is not (", size[0], ", ", rank, ", ", rank + 1,
           ")");
    }
    const DType result = float_type(matrices.dtype()), dtype = compute_type(result);
    // (x, y, .., 1) of each place.
    Dims dims;
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) {
      dims.push_back(size[2 + i]);
      count *= size[2 + i];
    }
    std::vector<Tensor> coordinates;
    for (int i = rank; i-- > 0;) {
      Dims axis(rank, 1);
      axis[i] = dims[i];
      const Tensor line = centres(dims[i], align_corners, dtype, matrices.device());
      coordinates.push_back(
          broadcast_to(reshape(line, Shape(span_of(axis))), Shape(span_of(dims))));
    }
    coordinates.push_back(ones(Shape(span_of(dims)), dtype, matrices.device()));
    const Tensor places = reshape(stack(coordinates, -1), {count, rank + 1});
    Dims all = dims;
    all.insert(all.begin(), size[0]);
    all.push_back(rank);
    const Tensor grid = matmul(places, swapaxes(astype(matrices, dtype), 1, 2));
    return astype(reshape(grid, Shape(span_of(all))), result);
  });
}

Tensor grid_sample(Arg x, Arg grid, std::string_view mode, std::string_view padding,
                   bool align_corners) {
  constexpr const char* kName = "grid_sample";
  return composed(x, grid, kName, [&](const Tensor& images, const Tensor& at) {
    const int rank = spatial_axes(kName, describe(images), images.ndim());
    if (at.ndim() != images.ndim() || at.shape(0) != images.shape(0) || at.shape(-1) != rank) {
      fail(kName, "grid ", describe(at), " is not (", images.shape(0),
           rank == 2 ? ", i, j, 2)" : ", i, j, k, 3)", " for ", describe(images));
    }
    const Mode how = mode_of(kName, mode);
    const Outside outside = outside_of(kName, padding);
    if (how == Mode::kCubic && rank != 2) fail(kName, "mode \"cubic\" is for images only");
    for (int i = 0; i < rank; ++i) {
      if (images.shape(2 + i) == 0) {
        fail(kName, "axis ", 2 + i, " of ", describe(images), " is empty");
      }
    }
    const DType result = float_type(promote(images.dtype(), at.dtype()));
    Dims dims{images.shape(0), images.shape(1)};
    for (int i = 0; i < rank; ++i) dims.push_back(at.shape(1 + i));
    return astype(reshape(sampled(astype(images, result), at, how, outside, align_corners),
                          Shape(span_of(dims))),
                  result);
  });
}

}  // namespace sluice
