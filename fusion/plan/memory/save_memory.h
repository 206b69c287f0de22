// Plans for a device that is short of memory: steps run in an order that needs less of it, and
// values that are read again long after are computed again instead of being kept.
//
// Bits stay: a step that runs twice, of the same values, computes the same.
#ifndef SLUICE_FUSION_PLAN_SAVE_MEMORY_H_
#define SLUICE_FUSION_PLAN_SAVE_MEMORY_H_

#include <cstdint>
#include <vector>

#include "fusion/plan/memory/blocks.h"
#include "fusion/plan/memory/memory_plan.h"
#include "fusion/plan/plan.h"

namespace sluice::fusion {

// What a run of a plan may take.
struct MemoryBudget {
  int64_t bytes = 0;                // for results, in blocks of their own
  std::vector<InputMemory> inputs;  // as for place_results()

  bool operator==(const MemoryBudget&) const = default;
};

// The bytes that a run has to allocate. Lifetimes and donors are known.
int64_t bytes_needed(const Blocks& blocks);

// Reorders the plan's steps and repeats some, as little work for the bytes as possible, until a run
// fits into the budget or nothing helps any more. At most, the work is four times as much.
// Lifetimes and donors are not known before and after.
void save_memory(Plan* plan, const MemoryBudget& budget, InPlace in_place);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_SAVE_MEMORY_H_
