// A call of an emitted program: how it is cut into launches and blocks, and its arguments as words.
//
// The words of a call are the members of the program's `Args`, 64 bits each:
//
//   sl_call                 see prelude_common.inc
//   extent[rank]            of each dim, outer dims first
//   divisor[rank]           by which a 32-bit index is divided by the extent
//   scalar[num_scalars]     as in KernelArgs
//   param[num_params]
//   for each access:        the address of its first element, or the offset if it has no buffer,
//                           then stride[rank] in elements
//
// The order of a reduction depends on the length of a row alone, not on how a call is cut: rows are
// reduced in chunks (prelude_rows.inc), which one block goes through in one launch (stage -1) or
// which many blocks share, in a launch for each pass and one for what happens once a row.
#ifndef SLUICE_KERNELS_GPU_RUN_CALL_H_
#define SLUICE_KERNELS_GPU_RUN_CALL_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "fusion/ir/program.h"
#include "kernels/executable.h"
#include "kernels/gpu/emit/row_way.h"

namespace sluice::kernels::cuda {

inline constexpr int kThreads = 256;                  // of every block
inline constexpr int64_t kMaxParameterBytes = 32764;  // of a kernel

// What follows from a program and its extents.
struct Geometry {
  int num_stages = 1;         // launches, one after another
  int64_t partial_bytes = 0;  // of device memory that all of them share; aligned to 16
  int64_t rows = 0;           // sl_call
  int64_t length = 0;         // sl_call
  int64_t chunks = 1;         // sl_call
  bool is_split = false;      // several blocks share a row
  RowWay way;
  // Of the launches but the last, then of the last. They differ if it is split.
  int64_t splits[2] = {1, 1};
  int64_t team[2] = {1, 1};
  int64_t blocks[2] = {0, 0};
  bool ends_with_rows = false;  // the last stage is what happens once a row

  bool is_last_kind(int stage) const { return ends_with_rows && stage == num_stages - 1; }
  // Blocks of a stage's launch; 0 if there is nothing to do. Below 2^31.
  int64_t num_blocks(int stage) const { return blocks[is_last_kind(stage)]; }
};

// `multiprocessors`: what the device has; rows are split if there are too few to go round. No bit
// depends on it. `takes_turns`: a thread may stand for several of the order's, as those of the
// generic kernel don't, which has but one way.
Geometry geometry_of(const fusion::Program& program, const int64_t* extents, int multiprocessors,
                     bool takes_turns = true);

// True if an index of the call does not fit in 32 bits.
bool needs_wide_indices(const fusion::Program& program, const KernelArgs& args);

int64_t num_words(const fusion::Program& program);

// Writes the num_words() words of a stage. Addresses in `args`, `errors` among them, are the
// device's; `partials` is null where partial_bytes is 0.
void pack_call(const fusion::Program& program, const Geometry& geometry, const KernelArgs& args,
               int stage, void* partials, uint64_t* words);

// One call of a kernel by table, at one stage.
struct TableCall {
  int program = 0;  // of Kernel::programs
  int64_t blocks = 0;
  absl::Span<const uint64_t> words;
};

// The table: its number of calls, then (first block, program, index of the words) of each, then
// the words. Calls without blocks are left out. A launch has the sum of the calls' blocks.
std::vector<uint64_t> pack_table(absl::Span<const TableCall> calls);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_GPU_RUN_CALL_H_
