// Library calls that list the positions of what is true.
#ifndef SLUICE_FUSION_LIBRARY_COMPACTION_H_
#define SLUICE_FUSION_LIBRARY_COMPACTION_H_

#include <cstdint>
#include <string>

#include "fusion/lower/step.h"

namespace sluice::fusion {

// Each block of so many elements is told where its positions begin: blocks do not wait for others.
inline constexpr int64_t kCompactionBlock = 4096;

// Buffers: x (length,), of bool; counts, of int64: how many of x's elements are true up to the end
// of each block; y, int64: their positions in increasing order. Offsets and strides in elements.
struct CompactionAttributes : SizedAttributes<CompactionAttributes> {
  int64_t length = 0;
  int64_t offset = 0, stride = 1;                // of x
  int64_t counts_offset = 0, counts_stride = 1;  // of the counts

  template <typename Attributes, typename F>
  static void for_each_number(Attributes& of, F f) {
    for (auto* number :
         {&of.length, &of.offset, &of.stride, &of.counts_offset, &of.counts_stride}) {
      f(*number);
    }
  }
  std::string text() const override;
  int64_t flops() const override { return 0; }
  double cost() const override { return static_cast<double>(length); }
};

// `call` is of kind kCompaction.
inline const CompactionAttributes& compaction_of(const LibraryCall& call) {
  return static_cast<const CompactionAttributes&>(*call.attributes);
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LIBRARY_COMPACTION_H_
