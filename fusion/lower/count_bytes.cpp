#include "fusion/lower/count_bytes.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/types/span.h"

namespace sluice::fusion {
namespace {

// Of one block, given all buffers in it: at most the bytes between the least address and the
// greatest, and at most one element for each point of each access. So overlapping windows of a
// stencil count once, and slices side by side each.
int64_t bytes_touched(const KernelCall& call, const LoopNest& nest, const Blocks& blocks,
                      absl::Span<const uint16_t> buffers) {
  int64_t points = 0;
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t greatest = std::numeric_limits<int64_t>::min();
  int64_t element_size = 0;
  for (size_t i = 0; i < nest.addresses.size(); ++i) {
    const Access& access = call.program.accesses[i];
    if (std::find(buffers.begin(), buffers.end(), access.buffer) == buffers.end()) continue;
    element_size = static_cast<int64_t>(size_of(access.dtype));
    int64_t elements = 1;
    int64_t low = nest.addresses[i].offset + blocks[access.buffer].offset;
    int64_t high = low;
    for (size_t d = 0; d < nest.dims.size(); ++d) {
      const int64_t stride = nest.addresses[i].coefficient[d];
      if (stride == 0) continue;
      elements *= nest.dims[d].extent;
      (stride < 0 ? low : high) += stride * (nest.dims[d].extent - 1);
    }
    points += elements;
    least = std::min(least, low);
    greatest = std::max(greatest, high);
  }
  int64_t most = std::min(points, greatest - least + 1);
  // Predicated accesses have points outside the block.
  const int64_t elements = blocks[buffers[0]].elements;
  if (elements >= 0) most = std::min(most, elements);
  return most * element_size;
}

}  // namespace

BytesMoved count_bytes(const KernelCall& call, const LoopNest& nest, const Blocks& blocks) {
  BytesMoved bytes;
  std::vector<bool> is_output(call.buffers.size(), false);
  for (const OutputDependence& output : call.outputs) is_output[output.buffer] = true;
  std::vector<bool> is_counted(call.buffers.size(), false);
  std::vector<uint16_t> in_block;
  for (size_t b = 0; b < call.buffers.size(); ++b) {
    if (is_counted[b]) continue;
    in_block.assign(1, static_cast<uint16_t>(b));
    for (size_t other = b + 1; other < call.buffers.size() && !is_output[b]; ++other) {
      if (is_output[other] || blocks[b].number < 0) continue;
      if (blocks[other].number != blocks[b].number) continue;
      in_block.push_back(static_cast<uint16_t>(other));
      is_counted[other] = true;
    }
    (is_output[b] ? bytes.written : bytes.read) += bytes_touched(call, nest, blocks, in_block);
  }
  return bytes;
}

}  // namespace sluice::fusion
