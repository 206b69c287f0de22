// The lines of an array along one axis, as library calls go through them.
#ifndef SLUICE_FUSION_LIBRARY_LINES_H_
#define SLUICE_FUSION_LIBRARY_LINES_H_

#include <array>
#include <cstdint>

#include <sluice/shape.h>
#include "runtime/layout.h"

namespace sluice::fusion {

// The lines of x along an axis, numbered row-major over the other axes, and those that a call makes
// of them in y, which has no gaps.
struct Lines {
  int64_t length = 0;  // of a line of x
  int64_t stride = 0;  // along a line of x, in elements
  int64_t inner = 1;   // the distance of neighbours in a line of y: lines that interleave
  int64_t lines = 0;
  // The other axes of x.
  int rank = 0;
  std::array<int64_t, kMaxRank> extents{}, strides{};

  static Lines along(int axis, const Layout& x);

  // Where a line begins in x, and in y if it has `length_of_y` elements there.
  int64_t begin_of_x(int64_t line) const;
  int64_t begin_of_y(int64_t line, int64_t length_of_y) const {
    return line / inner * length_of_y * inner + line % inner;
  }
  int64_t begin_of_y(int64_t line) const { return begin_of_y(line, length); }

  // As SizedAttributes has it.
  template <typename Self, typename F>
  static void for_each_number(Self& of, F f) {
    for (auto* number : {&of.length, &of.stride, &of.inner, &of.lines}) f(*number);
    for (int k = 0; k < of.rank; ++k) {
      f(of.extents[k]);
      f(of.strides[k]);
    }
  }
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LIBRARY_LINES_H_
