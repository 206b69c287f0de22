// Windows as columns, and the reverse.
#include <utility>
#include <vector>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/composed/compose.h"
#include "frontend/layers/windows.h"

namespace sluice {
namespace {

using frontend::composed;
using frontend::describe;
using frontend::extents_of;
using frontend::fail;
using frontend::WindowList;
using frontend::Windows;

WindowList windows_over(const char* name, const Tensor& images, const Pair& window,
                        const Conv2dOptions& options) {
  if (options.groups != 1) fail(name, "has no groups, but was given ", options.groups);
  return frontend::windows_of(name, images, frontend::window_extents(extents_of(window), options));
}

// What windows along an axis add up to, of this extent: their places are two axes before them.
Tensor added_up(const Tensor& places, const Windows& along, int64_t extent) {
  const int window_axis = along.axis + places.ndim() - 2;
  Tensor sum;
  for (int64_t i = 0; i < along.size; ++i) {
    const Tensor part = squeeze(slice(places, window_axis, i, i + 1), window_axis);
    Windows around = along;
    around.before = i * along.dilation - along.before;
    const Tensor wide = frontend::spread(part, along.axis + part.ndim(), along.stride);
    around.after = extent - around.before - wide.shape(along.axis);
    Tensor term = frontend::padded(wide, {around}, 0);
    sum = i == 0 ? std::move(term) : std::move(sum) + std::move(term);
  }
  return sum;
}

}  // namespace

Tensor unfold(Arg x, Pair window, const Conv2dOptions& options) {
  constexpr const char* kName = "unfold";
  return composed(x, kName, [&](const Tensor& images) {
    if (images.ndim() != 4) fail(kName, describe(images), " has not the axes (n, c, h, w)");
    const WindowList windows = windows_over(kName, images, window, options);
    const Tensor all = frontend::padded(images, windows, 0);
    return squeeze(frontend::columns_of(frontend::parts_of(all, windows), 1), 1);
  });
}

Tensor fold(Arg x, Pair size, Pair window, const Conv2dOptions& options) {
  constexpr const char* kName = "fold";
  return composed(x, kName, [&](const Tensor& columns) {
    const int64_t area = window.height * window.width;
    if (columns.ndim() != 3 || area < 1 || columns.shape(1) % area != 0) {
      fail(kName, describe(columns), " is not (n, c * ", area, ", places)");
    }
    const int64_t batch = columns.shape(0), channels = columns.shape(1) / area;
    // Says what fits into an image of this size; nothing is made of it.
    const Tensor images =
        zeros({batch, channels, size.height, size.width}, columns.dtype(), columns.device());
    const WindowList windows = windows_over(kName, images, window, options);
    const Windows &down = windows[0], &across = windows[1];
    if (columns.shape(2) != down.count * across.count) {
      fail(kName, describe(columns), " has not ", down.count, " x ", across.count,
           " places, as many as windows of ", frontend::text_of(extents_of(window)), " fit into (",
           size.height, ", ", size.width, ")");
    }
    const Tensor places =
        reshape(columns, {batch, channels, window.height, window.width, down.count, across.count});
    return added_up(added_up(places, down, size.height), across, size.width);
  });
}

}  // namespace sluice
