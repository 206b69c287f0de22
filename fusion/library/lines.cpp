#include "fusion/library/lines.h"

namespace sluice::fusion {

Lines Lines::along(int axis, const Layout& x) {
  Lines result;
  result.length = x.shape[axis];
  result.stride = x.strides[axis];
  result.lines = 1;
  for (int k = 0; k < x.shape.rank(); ++k) {
    if (k == axis) continue;
    result.extents[result.rank] = x.shape[k];
    result.strides[result.rank++] = x.strides[k];
    result.lines *= x.shape[k];
    if (k > axis) result.inner *= x.shape[k];
  }
  return result;
}

int64_t Lines::begin_of_x(int64_t line) const {
  int64_t begin = 0;
  for (int k = rank - 1; k > 0; --k) {
    begin += line % extents[k] * strides[k];
    line /= extents[k];
  }
  return rank > 0 ? begin + line * strides[0] : 0;
}

}  // namespace sluice::fusion
