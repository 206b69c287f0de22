// Library calls for cumulative sums and products along an axis.
#ifndef SLUICE_FUSION_LIBRARY_SCAN_H_
#define SLUICE_FUSION_LIBRARY_SCAN_H_

#include <array>
#include <cstdint>
#include <string>

#include <sluice/dtype.h>
#include <sluice/shape.h>
#include "fusion/lower/step.h"

namespace sluice::fusion {

// Element i of a line of y combines elements 0 to i of the same line of x. Lines run along one axis
// and are numbered row-major over the others; y has no gaps. Integers wrap; half types accumulate
// in float32, and each element is rounded once.
struct ScanShape {
  bool multiplies = false;  // else it adds
  int64_t length = 0;       // of a line
  int64_t stride = 0;       // along a line of x, in elements
  int64_t inner = 1;        // the distance of neighbours in a line of y: lines that interleave
  int64_t lines = 0;
  // The other axes of x.
  int rank = 0;
  std::array<int64_t, kMaxRank> extents{}, strides{};

  // Where a line begins in x and y, in elements.
  int64_t begin_of_x(int64_t line) const;
  int64_t begin_of_y(int64_t line) const { return line / inner * length * inner + line % inner; }
};

// Buffers: x, y. Both are of `dtype`, which is an integer of 64 bits or a float.
struct ScanAttributes : SizedAttributes<ScanAttributes> {
  DType dtype = DType::kFloat32;
  ScanShape shape;
  int64_t offset = 0;  // of x from the base of the block, in elements

  template <typename Attributes, typename F>
  static void for_each_number(Attributes& of, F f) {
    auto& shape = of.shape;
    for (auto* number : {&shape.length, &shape.stride, &shape.inner, &shape.lines, &of.offset}) {
      f(*number);
    }
    for (int k = 0; k < shape.rank; ++k) {
      f(shape.extents[k]);
      f(shape.strides[k]);
    }
  }
  std::string text() const override;
  int64_t flops() const override { return shape.lines * shape.length; }
  double cost() const override { return static_cast<double>(flops()); }
};

// `call` is of kind kScan.
inline const ScanAttributes& scan_of(const LibraryCall& call) {
  return static_cast<const ScanAttributes&>(*call.attributes);
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LIBRARY_SCAN_H_
