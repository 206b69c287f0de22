#ifndef SLUICE_RUNTIME_MEMORY_STATS_H_
#define SLUICE_RUNTIME_MEMORY_STATS_H_

#include <cstdint>

namespace sluice::runtime {

// Statistics of one device's allocator.
struct MemoryStats {
  int64_t live = 0;    // bytes requested and not yet freed
  int64_t peak = 0;    // the maximum of `live` since the last reset
  int64_t cached = 0;  // bytes kept for reuse
  int64_t in_use = 0;  // of the blocks that `live` lies in, which are what a limit counts
};

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_MEMORY_STATS_H_
