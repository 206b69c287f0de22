// What follows a matrix product goes into the library call.
#ifndef SLUICE_FUSION_PLAN_EPILOGUES_H_
#define SLUICE_FUSION_PLAN_EPILOGUES_H_

#include "fusion/plan/plan.h"

namespace sluice::fusion {

// A kernel that does nothing but apply epilogues to a matmul's result, which nobody else needs,
// becomes part of the matmul's step. Changes bits: the library chooses the order of its sums by
// what follows them, and has functions of its own. Kernel steps have one call each, and it is known
// which results are observed.
void fold_epilogues(Plan* plan);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_EPILOGUES_H_
