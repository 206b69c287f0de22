// Folds what follows a library call into the call.
#ifndef SLUICE_FUSION_PLAN_EPILOGUES_H_
#define SLUICE_FUSION_PLAN_EPILOGUES_H_

#include "fusion/ir/epilogue_ops.h"
#include "fusion/plan/plan.h"

namespace sluice::fusion {

// A kernel that only applies epilogues to the output of a library call, which nothing else reads,
// becomes part of that call. EpilogueUse::kAny may change bits: a GPU's library chooses the order
// of its sums by what follows them, and has activations of its own. Kernel steps have one call each
// at this point, and it is known which results are observed.
void fold_epilogues(Plan* plan, EpilogueUse use);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_EPILOGUES_H_
