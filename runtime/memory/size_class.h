// The size classes of the caching allocators.
#ifndef SLUICE_RUNTIME_SIZE_CLASS_H_
#define SLUICE_RUNTIME_SIZE_CLASS_H_

#include <algorithm>
#include <bit>
#include <cstddef>

#include "runtime/memory/buffer.h"

namespace sluice::runtime {

// Rounds up to one of eight steps per power of two: blocks of similar size are interchangeable, and
// at most an eighth is wasted.
inline size_t size_class(size_t bytes) {
  const size_t step = std::max(kBufferAlignment, std::bit_floor(bytes) / 8);
  return std::max(step, (bytes + step - 1) & ~(step - 1));
}

// Of a block that has just room.
inline size_t least_capacity(size_t bytes) {
  return std::max(kBufferAlignment, (bytes + kBufferAlignment - 1) & ~(kBufferAlignment - 1));
}

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_SIZE_CLASS_H_
