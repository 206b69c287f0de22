// The caching allocator of host memory. Fresh pages cost more than the kernels that fill them, so
// blocks that are given back are kept and handed out again.
#ifndef SLUICE_RUNTIME_ALLOCATOR_H_
#define SLUICE_RUNTIME_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/buffer.h"
#include "runtime/memory_stats.h"

namespace sluice::runtime {

// A buffer of at least `bytes` (0 is allowed) with unspecified contents. kResourceExhausted if the
// limit or the system does not allow it even after the cache has been given back.
absl::StatusOr<BufferRef> allocate(size_t bytes);

// Bytes that live and cached memory may take together; 0: 90 % of the machine's memory.
void set_memory_limit(int64_t bytes);

// Gives all cached memory back to the system.
void trim();

MemoryStats memory_stats();
void reset_peak();

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_ALLOCATOR_H_
