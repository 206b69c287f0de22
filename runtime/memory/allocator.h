// The caching allocator of host memory. Touching fresh pages costs more than the kernels that fill
// them, so freed blocks are kept, by size class, and never zeroed.
#ifndef SLUICE_RUNTIME_ALLOCATOR_H_
#define SLUICE_RUNTIME_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/memory/buffer.h"
#include "runtime/memory/memory_stats.h"

namespace sluice::runtime {

// A buffer of at least `bytes` (0 is allowed), uninitialised. kResourceExhausted if the limit or
// the system refuses it even after the cache has been returned to the system.
absl::StatusOr<BufferRef> allocate(size_t bytes);

// Limits live and cached memory together, in bytes; 0: 90 % of the machine's memory.
void set_memory_limit(int64_t bytes);

// Returns all cached memory to the system.
void trim();

MemoryStats memory_stats();
void reset_peak();

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_ALLOCATOR_H_
