// How many bytes a kernel call moves between memory and the processor.
#ifndef SLUICE_FUSION_LOWER_COUNT_BYTES_H_
#define SLUICE_FUSION_LOWER_COUNT_BYTES_H_

#include <cstdint>
#include <vector>

#include "fusion/lower/loops/loop_nest.h"
#include "fusion/lower/step.h"

namespace sluice::fusion {

// The block of memory that a buffer lies in; the default if it is not known.
using Block = decltype(GraphNode::block);
using Blocks = std::vector<Block>;  // by buffer

struct BytesMoved {
  int64_t read = 0;
  int64_t written = 0;
};

// An element that several accesses of one block read counts once, as far as that can be told from
// their extents and strides: see bytes_touched().
BytesMoved count_bytes(const KernelCall& call, const LoopNest& nest, const Blocks& blocks);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_COUNT_BYTES_H_
