// Compactions on the CPU: each range of blocks is one thread's.
#include "fusion/library/compaction.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/library/library.h"
#include "runtime/cpu/parallel.h"
#include "runtime/integers.h"

namespace sluice::kernels {
namespace {

using fusion::kCompactionBlock;

constexpr int64_t kBlockGrain = 4;  // blocks
constexpr uint64_t kAllTrue = 0x0101010101010101;

// The positions within a block of what is true among `count` elements; how many these are.
int64_t find(const uint8_t* x, int64_t count, int64_t stride, uint16_t* found) {
  int64_t number = 0;
  int64_t i = 0;
  if (stride == 1) {
    for (; i + 8 <= count; i += 8) {
      uint64_t eight;
      std::memcpy(&eight, x + i, sizeof(eight));
      if (eight == 0) continue;
      if (eight == kAllTrue) {
        for (int64_t k = 0; k < 8; ++k) found[number + k] = static_cast<uint16_t>(i + k);
        number += 8;
        continue;
      }
      for (int64_t k = i; k < i + 8; ++k) {
        found[number] = static_cast<uint16_t>(k);
        number += x[k];
      }
    }
  }
  for (; i < count; ++i) {
    found[number] = static_cast<uint16_t>(i);
    number += x[i * stride];
  }
  return number;
}

}  // namespace

absl::Status run_compaction(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  const fusion::CompactionAttributes& a = fusion::compaction_of(call);
  const auto* const x = static_cast<const uint8_t*>(buffers[0]) + a.offset;
  const auto* const counts = static_cast<const int64_t*>(buffers[1]) + a.counts_offset;
  auto* const y = static_cast<int64_t*>(buffers[2]);
  const int64_t blocks = ceil_div(a.length, kCompactionBlock);
  parallel_for(blocks, kBlockGrain, [&](int64_t block, int64_t end) {
    uint16_t found[kCompactionBlock + 1];  // what is not true is written, and then written over
    for (; block < end; ++block) {
      const int64_t first = block * kCompactionBlock;
      const int64_t number =
          find(x + first * a.stride, std::min(kCompactionBlock, a.length - first), a.stride, found);
      int64_t* const out = y + (block > 0 ? counts[(block - 1) * a.counts_stride] : 0);
      for (int64_t i = 0; i < number; ++i) out[i] = first + found[i];
    }
  });
  return absl::OkStatus();
}

}  // namespace sluice::kernels
