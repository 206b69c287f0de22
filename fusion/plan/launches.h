// Horizontal fusion: kernels that don't depend on each other share a launch.
#ifndef SLUICE_FUSION_PLAN_LAUNCHES_H_
#define SLUICE_FUSION_PLAN_LAUNCHES_H_

#include <vector>

#include "fusion/plan/plan.h"

namespace sluice::fusion {

// Merges small kernels that are ready to run into one launch, and orders launches so that there are
// few. Large kernels and library calls keep their own: they fill the device by themselves, and
// running them early would keep their results in memory for longer.
std::vector<Step> merge_launches(std::vector<Step> steps, size_t num_results);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_LAUNCHES_H_
