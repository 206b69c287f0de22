// What of a Program is emitted where: which instructions each pass over a row needs, and which are
// known before it.
#ifndef SLUICE_KERNELS_LLVM_ROW_PLAN_H_
#define SLUICE_KERNELS_LLVM_ROW_PLAN_H_

#include <vector>

#include "fusion/ir/program.h"

namespace sluice::kernels {

struct RowPlan {
  // What happens at one place, each list in body order.
  struct Step {
    std::vector<fusion::ValueId> instrs;
    std::vector<fusion::Store> stores;
    std::vector<fusion::ValueId> reductions;  // only in `passes`
    // Only in `passes`: what later passes take from the row's buffer, and what this one does.
    std::vector<fusion::ValueId> kept, restored;
  };

  // `keep`: a pass may take values from where an earlier one kept them.
  RowPlan(const fusion::Program& program, bool keep);

  // Pointwise: comparisons of an index along the lanes with a bound, and what follows from those
  // alone. Away from the bounds they are the same for all lanes of a vector.
  struct Ranges {
    std::vector<fusion::ValueId> comparisons;
    std::vector<fusion::ValueId> derived;
    std::vector<fusion::ValueId> rest;  // what is computed besides
    std::vector<bool> uniform;          // by value: the same for all lanes, away from the bounds
  };
  Ranges ranges;

  // Once a call.
  std::vector<fusion::ValueId> uniform;
  // Row-level values that are the same in all lanes, where lanes run along an outer dim: computed
  // as scalars, outside the loop over that dim.
  std::vector<fusion::ValueId> invariant;
  // before[p]: row level, known before pass p; before[passes.size()]: after the last.
  std::vector<Step> before;
  // Element level. A value that several passes need is computed in each, or kept by the first.
  std::vector<Step> passes;
  std::vector<fusion::ValueId> kept;  // by all passes, each once
  // All reductions in body order.
  std::vector<fusion::ValueId> reductions;
  // The lanes of a vector in which the program is to be computed.
  int lanes = 1;

  // Blocks of a row can be reduced apart from each other.
  bool splits_rows() const { return !reductions.empty() && splits_rows_; }

 private:
  bool splits_rows_ = true;
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LLVM_ROW_PLAN_H_
