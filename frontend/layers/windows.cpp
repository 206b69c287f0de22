#include "frontend/layers/windows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <sluice/ops.h>
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/checks.h"

namespace sluice::frontend {

std::string text_of(const Extents& extents) {
  return absl::StrCat("(", absl::StrJoin(extents, ", "), ")");
}

const char* names_of_axes(size_t count) {
  return count == 1 ? "length" : count == 2 ? "height, width" : "depth, height, width";
}

Tensor Windows::under(int64_t i, const Tensor& x) const {
  const int64_t begin = i * dilation;
  return slice(x, axis, begin, begin + (count - 1) * stride + 1, stride);
}

WindowList windows_of(const char* name, const Tensor& x, const WindowExtents& extents) {
  const auto axes = static_cast<int>(extents.size.size());
  WindowList windows;
  for (int i = 0; i < axes; ++i) {
    Windows along{.axis = i - axes,
                  .size = extents.size[i],
                  .stride = extents.stride[i],
                  .dilation = extents.dilation[i],
                  .before = extents.padding[i],
                  .after = extents.padding[i],
                  .count = 0};
    const int axis = along.axis + x.ndim();
    if (along.size < 1 || along.stride < 1 || along.dilation < 1 || along.before < 0) {
      fail(name, "a window of ", along.size, " with stride ", along.stride, ", padding ",
           along.before, " and dilation ", along.dilation, " over axis ", axis, " of ",
           describe(x));
    }
    const int64_t extent = x.shape(along.axis) + along.before + along.after;
    if (extent < along.reach()) {
      fail(name, "a window that spans ", along.reach(), " does not fit into axis ", axis, " of ",
           describe(x), ", padded to ", extent);
    }
    along.count = (extent - along.reach()) / along.stride + 1;
    windows.push_back(along);
  }
  return windows;
}

Extents counts_of(const WindowList& windows) {
  Extents counts;
  for (const Windows& along : windows) counts.push_back(along.count);
  return counts;
}

Tensor padded(const Tensor& x, const WindowList& windows, Scalar value) {
  std::vector<std::pair<int64_t, int64_t>> widths(x.ndim(), {0, 0});
  bool grows = false;
  for (const Windows& along : windows) {
    widths[along.axis + x.ndim()] = {std::max<int64_t>(along.before, 0),
                                     std::max<int64_t>(along.after, 0)};
    grows |= along.before > 0 || along.after > 0;
  }
  Tensor all = grows ? pad(x, widths, value) : x;
  for (const Windows& along : windows) {
    if (along.before >= 0 && along.after >= 0) continue;
    const int64_t begin = std::max<int64_t>(-along.before, 0);
    const int64_t end = all.shape(along.axis) + std::min<int64_t>(along.after, 0);
    all = slice(all, along.axis, begin, std::max<int64_t>(end, 0));
  }
  return all;
}

}  // namespace sluice::frontend
