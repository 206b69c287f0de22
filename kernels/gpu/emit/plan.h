// Where emitted text computes each value of a Program: the passes of a PassPlan, with lanes.
#ifndef SLUICE_KERNELS_GPU_EMIT_PLAN_H_
#define SLUICE_KERNELS_GPU_EMIT_PLAN_H_

#include <vector>

#include "fusion/ir/pass_plan.h"
#include "fusion/ir/program.h"
#include "kernels/gpu/emit/row_way.h"

namespace sluice::kernels::cuda {

// Lanes are the points that a thread computes side by side, along the innermost dim: along the last
// outer dim in a pointwise program, along the last reduced one in a row program. A column program
// has one, and a row program whose threads run across rows. How many there are is fixed here, for
// all sizes.
int lanes_of(const fusion::Program& program);

// True if blocks take the points of a pointwise program by tiles of several lines, where extents
// allow: some lanes are not consecutive in memory, so other dims may be.
bool takes_tiles(const fusion::Program& program);

// True if a column program's columns are a thread's each: they are short, and lie side by side.
bool has_short_columns(const fusion::Program& program);

// True if chunks of a row program's rows may lie side by side in memory.
bool has_chunks_across(const fusion::Program& program);

// Groups of as many elements as a row program has lanes that a thread of the order's team keeps of
// a row at most, if it keeps any.
inline constexpr int kKeptGroups = 4;
// Likewise of a row that a warp has in place of a block. Of twice as many a multiprocessor has
// registers for too few warps: layer norm of 4,096 x 4,096 float16s took 38 us on an H200, and 26
// by blocks; of 16,384 x 2,048, without a weight, 39 by warps and 54 by blocks.
inline constexpr int kGroupsByWarp = 16;

// Lists are in body order.
struct Plan {
  struct Pass {
    std::vector<fusion::ValueId> row;         // known before the pass, once a row
    std::vector<fusion::ValueId> lanes;       // computed for each lane
    std::vector<fusion::ValueId> reductions;  // of values of the lanes
    std::vector<fusion::Store> stores;        // by every lane
    int batch = 1;                            // bodies whose loads are under way at a time
  };
  // For rows short enough that threads keep what several passes need of them.
  struct Kept {
    int registers = 0;       // of a lane, at most
    bool is_little = false;  // of halves, so that registers suffice for many threads
    bool by_warp = false;    // a warp may have rows that the order gives to a block
    std::vector<fusion::ValueId> values;
    std::vector<std::vector<fusion::ValueId>> lanes;  // by pass: what it computes; empty: none is

    bool may_keep() const { return !lanes.empty(); }
  };

  explicit Plan(const fusion::Program& program);

  std::vector<fusion::ValueId> uniform;  // once a thread
  // A pointwise program has one pass, over its points: `row` are the values that are the same in
  // all lanes. A value of the lanes that several passes need is computed in each.
  std::vector<Pass> passes;
  Kept kept;
  std::vector<fusion::ValueId> after;       // of row level, known after the last pass
  std::vector<fusion::Store> row_stores;    // once a row, after everything else
  std::vector<fusion::ValueId> reductions;  // all of them
};

// Blocks of a multiprocessor that registers are to suffice for: 1 unless more waits for memory than
// the compiler would see to.
int blocks_of(const Plan& plan, RowWay way);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_GPU_EMIT_PLAN_H_
