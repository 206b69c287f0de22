// The ways in which a row program's threads go over rows.
#ifndef SLUICE_KERNELS_GPU_EMIT_ROW_WAY_H_
#define SLUICE_KERNELS_GPU_EMIT_ROW_WAY_H_

#include <cstdint>

namespace sluice::kernels::cuda {

// Each has a kernel of its own, as registers that one needs would leave room for fewer threads of
// another. No bit depends on it. Programs without rows have but the first.
struct RowWay {
  enum Kind : uint8_t {
    kRead,        // of any rows each pass reads what it needs
    kKept,        // of short ones threads keep in registers what a later pass needs
    kKeptByWarp,  // likewise, and a warp has the row that the order of sums gives to a block
  };
  Kind kind = kRead;
  uint8_t groups = 0;  // of as many elements as there are lanes, that a thread keeps at most

  bool operator==(const RowWay&) const = default;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_GPU_EMIT_ROW_WAY_H_
