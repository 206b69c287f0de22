// Library calls for cumulative sums, products and the like along an axis, where scans are no
// instructions of programs (fusion/ir/scan.h): on GPUs.
#ifndef SLUICE_FUSION_LIBRARY_SCAN_H_
#define SLUICE_FUSION_LIBRARY_SCAN_H_

#include <cstdint>
#include <string>

#include <sluice/dtype.h>
#include "fusion/library/lines.h"
#include "fusion/lower/step.h"

namespace sluice::fusion {

// kLogSumExp is of floats.
enum class ScanKind : uint8_t { kSum, kProduct, kMax, kMin, kLogSumExp };

// Element i of a line of y combines elements 0 to i of the same line of x. Integers wrap; half
// types accumulate in float32, and each element is rounded once.
struct ScanShape : Lines {
  ScanKind kind = ScanKind::kSum;
};

// Buffers: x, y. Both are of `dtype`: of sums and products an integer of 64 bits or a float. NaN
// wins kMax and kMin.
struct ScanAttributes : SizedAttributes<ScanAttributes> {
  DType dtype = DType::kFloat32;
  ScanShape shape;
  int64_t offset = 0;  // of x from the base of the block, in elements

  template <typename Attributes, typename F>
  static void for_each_number(Attributes& of, F f) {
    ScanShape::for_each_number(of.shape, f);
    f(of.offset);
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
