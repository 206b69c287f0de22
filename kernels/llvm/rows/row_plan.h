// Where compiled code computes each value of a Program: the passes of a PassPlan, with lanes,
// caches and bounds.
#ifndef SLUICE_KERNELS_LLVM_ROW_PLAN_H_
#define SLUICE_KERNELS_LLVM_ROW_PLAN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/ir/pass_plan.h"
#include "fusion/ir/program.h"

namespace sluice::kernels {

// A value that is an index along the lanes: the address of `access`, a kCoordinate's, plus
// `distance` (kNoValue: 0).
struct LaneIndex {
  uint16_t access;
  fusion::ValueId distance;
};
std::optional<LaneIndex> lane_index(const fusion::Program& program, fusion::ValueId value);

// True for what only changes signs.
bool is_of_sign(fusion::Op op);

// True if the halves of `program` are only loaded, selected, given other signs and stored: their
// bits are moved then, not converted to float32 and back.
bool moves_halves(const fusion::Program& program);

// The dtype in which a leaf of `reduction`, an integer sum, is summed lane by lane, if its elements
// are widened from one that is so short that a narrower sum holds them; else the sum's own.
DType dtype_in_leaf(const fusion::Program& program, const fusion::Instr& reduction);

struct RowPlan {
  // What happens in one place.
  struct Stage {
    std::vector<fusion::ValueId> instrs;  // in body order
    std::vector<fusion::Store> stores;
    // Only in `passes`: what it reduces, which values it writes to the row's cache for later passes
    // and which it reads from there.
    std::vector<fusion::ValueId> reductions;
    std::vector<fusion::ValueId> to_cache, from_cache;
  };

  // `caches`: a pass may take expensive values from the first that computes them.
  RowPlan(const fusion::Program& program, bool caches);

  // Pointwise: comparisons of an index along the lanes with a bound, and what follows from those
  // alone. Away from the bounds they are the same for all lanes of a vector.
  struct Ranges {
    std::vector<fusion::ValueId> values;  // in body order
    // By value: the comparisons among them. The index of one in `moving` has a part that itself
    // changes at bounds.
    std::vector<bool> comparisons, moving;
    std::vector<fusion::ValueId> rest;  // the other values of before[0]
    bool by_lane = true;                // vectors that several bounds cut may be computed by lane
    std::vector<bool> uniform;          // by value: the same for all lanes, away from the bounds
  };
  Ranges ranges;

  // Once a call.
  std::vector<fusion::ValueId> uniform;
  // Row-level values that are the same in all lanes, where lanes run along an outer dim: computed
  // as scalars, outside the loop over that dim.
  std::vector<fusion::ValueId> invariant;
  // By value: at the element level, and the same in all lanes, where these run along an outer dim,
  // as the index of a row that is taken. Computed as a scalar.
  std::vector<bool> same_in_element;
  // before[p]: row level, known before pass p; before[passes.size()]: after the last.
  std::vector<Stage> before;
  // Element level. A value that several passes need is computed in each, or cached by the first.
  std::vector<Stage> passes;
  std::vector<fusion::ValueId> cached;  // by all passes, each once
  // All reductions in body order.
  std::vector<fusion::ValueId> reductions;
  // The lanes of a vector in which the program is to be computed.
  int lanes = 1;
  // Blocks of a row can be reduced apart from each other.
  bool splits_rows = false;

 private:
  RowPlan(const fusion::Program& program, fusion::PassPlan plan);
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LLVM_ROW_PLAN_H_
