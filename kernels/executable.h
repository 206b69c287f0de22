// An executable form of a Program: entry points that each run a part of it. Both tiers (interp/,
// llvm/) have the same entry points; kernels/cpu/launch.h divides the work between threads.
#ifndef SLUICE_KERNELS_EXECUTABLE_H_
#define SLUICE_KERNELS_EXECUTABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "fusion/ir/program.h"

namespace sluice::kernels {

// An error raised inside a kernel: slots are numbered by the Program. `index` is the offending
// value. The first to raise a slot wins; which one that is when several lanes fail is not
// specified.
struct ErrorSlot {
  std::atomic<uint32_t> raised{0};
  int64_t index = 0;
  int64_t extent = 0;
};

void raise_error(ErrorSlot* slots, int64_t slot, int64_t index, int64_t extent);

// A buffer of the calling thread in which a kernel caches a row or a tile, aligned to 64 bytes.
// Valid until the thread's next call.
void* thread_buffer(int64_t bytes);

// The arguments of one launch. Compiled code reads this struct by offset: keep it standard-layout.
struct KernelArgs {
  void* const* buffers;    // [num_buffers] base addresses
  const int64_t* extents;  // [rank] of each dim, outer dims first
  // [num_accesses][rank + 1]: the strides of the dims, then the offset, in elements
  const int64_t* accesses;
  // [num_scalars] each in its own dtype, in the low bytes (little endian); half dtypes as their 16
  // bits, bool as 0 or 1
  const uint64_t* scalars;
  const int64_t* params;  // [num_params]
  ErrorSlot* errors;      // [num_error_slots]
};

// The size in elements of the tiles that a kernel reads transposed, at most: the width is along the
// lane dim, the height along the dim before it.
inline constexpr int64_t kTileWidth = 256;
inline constexpr int64_t kTileHeight = 128;
// Non-temporal stores write whole groups of this many elements.
inline constexpr int64_t kNontemporalUnit = 64;

// Rows are numbered row-major over the outer dims. A tiled program (fusion::Program::tiled) is run
// on ranges that begin and end at multiples of the last outer extent, a packed one on whole rows
// (fusion::Program::packed), one with non-temporal stores
// on ranges that begin at multiples of kNontemporalUnit. `context` is the executable's own.
//
// Partial results of a block range: for reduction j (in body order) and rows [begin, end) two
// planes of 8 * (end - begin) bytes: plane 2j holds the accumulators, tightly packed in their own
// type; plane 2j + 1 the int64 positions (arg reductions only, else unused).
struct EntryPoints {
  // Whole rows: every pass, all blocks in order, all stores. For a pointwise program a row is one
  // point.
  void (*rows)(const void* context, const KernelArgs* args, int64_t begin, int64_t end) = nullptr;
  // For programs whose reductions all belong to pass 0 (else null): elements [first, last) of each
  // row, a block of it (block_size() in kernels/reduction.h), into `partials`, and any
  // element-level stores of that block.
  void (*block)(const void* context, const KernelArgs* args, int64_t begin, int64_t end,
                int64_t first, int64_t last, void* partials) = nullptr;
  // Combines `num_blocks` partials, `partial_stride` bytes apart, and does the row-level rest.
  void (*finish)(const void* context, const KernelArgs* args, int64_t begin, int64_t end,
                 int64_t num_blocks, const void* partials, int64_t partial_stride) = nullptr;
};

// Immutable; shared by all launches of its kernel.
class Executable {
 public:
  virtual ~Executable() = default;
  const EntryPoints& entry() const { return entry_; }
  const void* context() const { return this; }

 protected:
  EntryPoints entry_;
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_EXECUTABLE_H_
