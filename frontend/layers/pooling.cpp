// What windows are reduced to. What lies under each of their places is a strided view.
#include <limits>
#include <utility>
#include <vector>

#include <sluice/creation.h>
#include <sluice/dtype_info.h>
#include <sluice/ops.h>
#include "frontend/call.h"
#include "frontend/dims.h"
#include "frontend/layers/windows.h"
#include "frontend/reduce.h"

namespace sluice {
namespace {

using frontend::describe;
using frontend::Extents;
using frontend::extents_of;
using frontend::fail;
using frontend::text_of;
using frontend::WindowList;
using frontend::Windows;
using frontend::with_call;
using fusion::Op;

// Every window's elements of `x` joined by f: axis by axis from the first, so that extents are
// added and not multiplied.
template <typename F>
Tensor joined(Tensor x, const WindowList& windows, F f) {
  for (const Windows& along : windows) {
    Tensor all = along.under(0, x);
    for (int64_t i = 1; i < along.size; ++i) all = f(std::move(all), along.under(i, x));
    x = std::move(all);
  }
  return x;
}

// Windows that lie side by side are axes of a reshaped view.
Tensor reduced(const char* name, Op op, const Tensor& x, const WindowList& windows) {
  const std::span<const int64_t> dims = x.shape();
  std::vector<int64_t> extents(dims.begin(), dims.end() - std::ssize(windows));
  std::vector<int> axes;
  Tensor cut = x;
  for (const Windows& along : windows) {
    cut = slice(cut, along.axis, 0, along.count * along.size);
    extents.insert(extents.end(), {along.count, along.size});
    axes.push_back(static_cast<int>(extents.size()) - 1);
  }
  return frontend::reduce(name, op, reshape(cut, Shape(extents)), axes, false, x.dtype());
}

// `x` padded, its windows reduced by `op` or joined by f, which is the same.
template <typename F>
Tensor pooled(const char* name, Op op, const Tensor& x, const WindowList& windows, F f) {
  bool side_by_side = x.ndim() + static_cast<int>(windows.size()) <= kMaxRank;
  for (const Windows& along : windows) side_by_side &= along.stride == along.size;
  return side_by_side ? reduced(name, op, x, windows) : joined(x, windows, f);
}

// What pooling checks of its operand and options.
template <typename E>
WindowList pooling_windows(const char* name, const Tensor& x, const E& window,
                           const PoolOptions<E>& options) {
  const Extents size = extents_of(window), padding = extents_of(options.padding);
  const size_t axes = size.size();
  if (x.ndim() < static_cast<int>(axes)) {
    fail(name, describe(x), " has not the axes (.., ", frontend::names_of_axes(axes), ")");
  }
  Extents stride = extents_of(options.stride);
  for (size_t i = 0; i < axes; ++i) {
    if (stride[i] == 0) stride[i] = size[i];
  }
  WindowList windows = frontend::windows_of(name, x, {size, stride, padding, Extents(axes, 1)});
  for (Windows& along : windows) {
    if (2 * along.before > along.size) {
      fail(name, "padding ", text_of(padding), " is more than half of the window ", text_of(size));
    }
    const int64_t extent = x.shape(along.axis) + along.before;
    const int64_t next = along.count * along.stride;
    // One more that reaches beyond the padding, if it does not begin in it.
    if (options.ceil_mode && next < extent &&
        (extent + along.after - along.size) % along.stride != 0) {
      ++along.count;
      along.after = next + along.size - extent;
    }
  }
  return windows;
}

// What every value of a dtype wins against.
Scalar least(DType dtype) {
  if (is_float(dtype)) return -std::numeric_limits<double>::infinity();
  return dtype == DType::kBool ? 0 : iinfo(dtype).min;
}

template <typename E>
Tensor max_pool(const char* name, const Arg& x, const E& window, const PoolOptions<E>& options) {
  return with_call(x, name, [&](const Tensor& tensor) {
    const WindowList windows = pooling_windows(name, tensor, window, options);
    const Tensor all = frontend::padded(tensor, windows, least(tensor.dtype()));
    return pooled(name, Op::kMax, all, windows,
                  [](Tensor a, Tensor b) { return maximum(std::move(a), std::move(b)); });
  });
}

template <typename E>
Tensor avg_pool(const char* name, const Arg& x, const E& window, const PoolOptions<E>& options) {
  return with_call(x, name, [&](const Tensor& tensor) {
    const WindowList windows = pooling_windows(name, tensor, window, options);
    const DType result = float_type(tensor.dtype());
    const auto sums = [&](const Tensor& values, const WindowList& places) {
      return pooled(name, Op::kSum, frontend::padded(values, places, 0), places,
                    [](Tensor a, Tensor b) { return std::move(a) + std::move(b); });
    };
    Tensor sum = sums(astype(tensor, compute_type(result)), windows);
    // Elements that count, among those that are padded.
    std::vector<int64_t> extents;
    WindowList rest = windows;
    int64_t size = 1;
    bool is_whole = true;
    for (size_t i = 0; i < windows.size(); ++i) {
      const int64_t padding = extents_of(options.padding)[i];
      const bool counts = options.count_include_pad;
      extents.push_back(tensor.shape(windows[i].axis) + (counts ? 2 * padding : 0));
      if (counts) rest[i].before = 0, rest[i].after -= padding;
      size *= windows[i].size;
      is_whole &= rest[i].before == 0 && rest[i].after == 0;
    }
    if (is_whole) return astype(std::move(sum) / Scalar(static_cast<double>(size)), result);
    const Tensor ones = full(Shape(extents), 1, sum.dtype(), tensor.device());
    return astype(std::move(sum) / sums(ones, rest), result);
  });
}

}  // namespace

Tensor max_pool1d(Arg x, int64_t window, const Pool1dOptions& options) {
  return max_pool("max_pool1d", x, window, options);
}
Tensor max_pool2d(Arg x, Pair window, const Pool2dOptions& options) {
  return max_pool("max_pool2d", x, window, options);
}
Tensor max_pool3d(Arg x, Triple window, const Pool3dOptions& options) {
  return max_pool("max_pool3d", x, window, options);
}

Tensor avg_pool1d(Arg x, int64_t window, const Pool1dOptions& options) {
  return avg_pool("avg_pool1d", x, window, options);
}
Tensor avg_pool2d(Arg x, Pair window, const Pool2dOptions& options) {
  return avg_pool("avg_pool2d", x, window, options);
}
Tensor avg_pool3d(Arg x, Triple window, const Pool3dOptions& options) {
  return avg_pool("avg_pool3d", x, window, options);
}

}  // namespace sluice
