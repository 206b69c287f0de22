#include "frontend/layers/windows.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include <sluice/ops.h>
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/checks.h"

namespace sluice {

bool detail::is_same_padding(std::string_view mode) {
  if (mode != "same" && mode != "valid") {
    frontend::fail("convolution", "padding \"", std::string(mode),
                   "\" is neither a number, \"same\" nor \"valid\"");
  }
  return mode == "same";
}

namespace frontend {

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
    int64_t extent = x.shape(along.axis);
    if (extents.is_same) {
      const int64_t places = (extent + along.stride - 1) / along.stride;
      const int64_t more =
          std::max<int64_t>((places - 1) * along.stride + along.reach() - extent, 0);
      along.before = more / 2;
      along.after = more - along.before;
    }
    extent += along.before + along.after;
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

Extents window_of(const Tensor& filters) {
  return Extents(filters.shape().begin() + 2, filters.shape().end());
}

int64_t product_of(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

std::vector<Tensor> parts_of(const Tensor& all, const WindowList& windows) {
  std::vector<Tensor> parts{all};
  for (const Windows& along : windows) {
    std::vector<Tensor> cut;
    for (const Tensor& part : parts) {
      for (int64_t i = 0; i < along.size; ++i) cut.push_back(along.under(i, part));
    }
    parts = std::move(cut);
  }
  return parts;
}

Tensor columns_of(const std::vector<Tensor>& parts, int64_t groups) {
  const Tensor all = parts.size() == 1 ? parts[0] : stack(parts, 2);
  const int64_t terms = parts[0].shape(1) / groups * static_cast<int64_t>(parts.size());
  return reshape(all, {all.shape(0), groups, terms, product_of(window_of(parts[0]))});
}

Tensor spread(const Tensor& x, int axis, int64_t stride) {
  if (stride == 1 || x.shape()[axis] == 0) return x;
  std::vector<int64_t> dims(x.shape().begin(), x.shape().end());
  const int64_t extent = dims[axis];
  dims[axis] = extent * stride;
  std::vector<std::pair<int64_t, int64_t>> widths(x.ndim() + 1, {0, 0});
  widths[axis + 1] = {0, stride - 1};
  const Tensor wide = pad(expand_dims(x, axis + 1), widths);
  return slice(reshape(wide, Shape(dims)), axis, 0, (extent - 1) * stride + 1);
}

}  // namespace frontend
}  // namespace sluice
