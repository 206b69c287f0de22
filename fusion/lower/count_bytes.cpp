#include "fusion/lower/count_bytes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

namespace sluice::fusion {
namespace {

// Of one block, given all buffers in it: at most the bytes between the least address and the
// greatest, and at most one element for each point of each access. So overlapping windows of a
// stencil count once, and slices side by side each.
int64_t bytes_touched(const KernelCall& call, const LoopNest& nest, const Blocks& blocks,
                      const std::vector<uint16_t>& buffers) {
  int64_t points = 0;
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t greatest = std::numeric_limits<int64_t>::min();
  int64_t element_size = 0;
  for (size_t i = 0; i < nest.addresses.size(); ++i) {
    const Access& access = call.program.accesses[i];
    if (std::find(buffers.begin(), buffers.end(), access.buffer) == buffers.end()) continue;
    element_size = static_cast<int64_t>(size_of(access.dtype));
    const auto block = blocks.find(access.buffer);
    int64_t elements = 1;
    int64_t low = nest.addresses[i].offset + (block == blocks.end() ? 0 : block->second.offset);
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
  const auto block = blocks.find(buffers[0]);
  if (block != blocks.end() && block->second.elements >= 0) {
    most = std::min(most, block->second.elements);
  }
  return most * element_size;
}

}  // namespace

BytesMoved count_bytes(const KernelCall& call, const LoopNest& nest, const Blocks& blocks) {
  BytesMoved bytes;
  std::vector<bool> is_output(call.buffers.size(), false);
  for (const OutputDependence& output : call.outputs) is_output[output.buffer] = true;
  std::map<int32_t, std::vector<uint16_t>> by_block;
  int32_t own = -1;
  for (size_t b = 0; b < call.buffers.size(); ++b) {
    const auto number = static_cast<uint16_t>(b);
    if (is_output[b]) {
      bytes.written += bytes_touched(call, nest, blocks, {number});
      continue;
    }
    const auto block = blocks.find(number);
    const bool is_shared = block != blocks.end() && block->second.number >= 0;
    by_block[is_shared ? block->second.number : own--].push_back(number);
  }
  for (const auto& [block, buffers] : by_block) {
    bytes.read += bytes_touched(call, nest, blocks, buffers);
  }
  return bytes;
}

}  // namespace sluice::fusion
