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

// By the bits of eight elements: the positions of those that are set, a byte each.
struct SetBits {
  uint64_t positions[256] = {};
  constexpr SetBits() {
    for (unsigned bits = 0; bits < 256; ++bits) {
      int number = 0;
      for (uint64_t k = 0; k < 8; ++k) {
        if (((bits >> k) & 1) != 0) positions[bits] |= k << (8 * number++);
      }
    }
  }
};
constexpr SetBits kSetBits;

// Writes the positions of what is true among eight elements, the first of which is at `start`, and
// then others up to the eighth. How many are true.
int64_t find_eight(uint64_t eight, int64_t start, uint16_t* found) {
  typedef uint8_t Bytes __attribute__((vector_size(8)));
  typedef uint16_t Words __attribute__((vector_size(16)));
  constexpr uint64_t kOnes = 0x0101010101010101, kGather = 0x0102040810204080;
  const uint64_t positions = kSetBits.positions[(eight * kGather) >> 56];
  Bytes bytes;
  std::memcpy(&bytes, &positions, sizeof(bytes));
  const Words words = __builtin_convertvector(bytes, Words) + static_cast<uint16_t>(start);
  std::memcpy(found, &words, sizeof(words));
  return static_cast<int64_t>((eight * kOnes) >> 56);
}

// The positions within a block of what is true among `count` elements; how many these are.
int64_t find(const uint8_t* x, int64_t count, int64_t stride, uint16_t* found) {
  int64_t number = 0;
  int64_t i = 0;
  if (stride == 1) {
    // Whether there is any among so few as eight no processor foresees.
    for (; i + 32 <= count; i += 32) {
      uint64_t eights[4];
      std::memcpy(eights, x + i, sizeof(eights));
      if ((eights[0] | eights[1] | eights[2] | eights[3]) == 0) continue;
      for (int64_t k = 0; k < 4; ++k) number += find_eight(eights[k], i + 8 * k, found + number);
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
    uint16_t found[kCompactionBlock + 8];  // what is not true is written, and then written over
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
