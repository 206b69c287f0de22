// Windows over the last axes of a tensor, for convolutions and pooling; the frontend's own.
#ifndef SLUICE_FRONTEND_LAYERS_WINDOWS_H_
#define SLUICE_FRONTEND_LAYERS_WINDOWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include <sluice/convolution.h>
#include <sluice/tensor.h>

namespace sluice::frontend {

// A number for each axis.
using Extents = std::vector<int64_t>;
inline Extents extents_of(int64_t length) { return {length}; }
inline Extents extents_of(const Pair& pair) { return {pair.height, pair.width}; }
inline Extents extents_of(const Triple& triple) {
  return {triple.depth, triple.height, triple.width};
}
// The extents of the axes after the first two.
Extents window_of(const Tensor& filters);
int64_t product_of(const Extents& extents);
// "(1, 2)".
std::string text_of(const Extents& extents);
// "height, width".
const char* names_of_axes(size_t count);

// The windows along one axis, counted from the end. Place i of window p is element p stride + i
// dilation of the axis with `before` and `after` elements more at its ends.
struct Windows {
  int axis;
  int64_t size, stride, dilation, before, after, count;

  int64_t reach() const { return (size - 1) * dilation + 1; }
  // What lies under place `i` of each window, of a tensor that is padded.
  Tensor under(int64_t i, const Tensor& x) const;
};
using WindowList = std::vector<Windows>;

struct WindowExtents {
  Extents size, stride, padding, dilation;
  bool is_same = false;  // the padding is what Padding says
};
// Of what ConvOptions say.
template <typename Options>
WindowExtents window_extents(const Extents& size, const Options& options) {
  return {size, extents_of(options.stride), extents_of(options.padding.extents),
          extents_of(options.dilation), options.padding.is_same};
}
// Those over the last axes of x; throws if none fits.
WindowList windows_of(const char* name, const Tensor& x, const WindowExtents& extents);

// The counts of windows: extents of what is made of them.
Extents counts_of(const WindowList& windows);

// What lies under a window at each of its places, of images that are padded: (n, c, places..) each.
std::vector<Tensor> parts_of(const Tensor& all, const WindowList& windows);
// Those as columns, channel by channel: (n, groups, c / groups * window, places).
Tensor columns_of(const std::vector<Tensor>& parts, int64_t groups);

// x with stride - 1 zeros between its elements along an axis.
Tensor spread(const Tensor& x, int axis, int64_t stride);

// x with `before` and `after` elements more along each axis, or fewer if they are negative.
Tensor padded(const Tensor& x, const WindowList& windows, Scalar value);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_LAYERS_WINDOWS_H_
