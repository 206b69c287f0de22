// Rows that fall into short runs: an operand that is repeated along the last axes, as the gradient
// of max_pool2d is over each window, cannot be walked with the others as one dim.
#ifndef SLUICE_FUSION_LOWER_SHORT_RUNS_H_
#define SLUICE_FUSION_LOWER_SHORT_RUNS_H_

#include <vector>

#include "fusion/lower/step.h"

namespace sluice::fusion {

// If vectors along the rows that `call` reduces would be mostly empty, but for what some loads are
// put together with: those values, in order. To store the first is faster: a pointwise kernel packs
// several runs into a vector.
std::vector<ValueId> values_that_break_runs(const KernelCall& call);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_SHORT_RUNS_H_
