// A plan: all that it takes to run a window, except pointers and scalars.
//
// It is made once for a window's signature (planner.h) and run many times. It names memory by
// MemoryRef: the k-th input of the window, or the k-th result, a block that the plan itself has
// filled.
#ifndef SLUICE_FUSION_PLAN_PLAN_H_
#define SLUICE_FUSION_PLAN_PLAN_H_

#include <cstdint>
#include <vector>

#include "fusion/graph/graph.h"
#include "fusion/graph/memory_ref.h"
#include "fusion/lower/step.h"
#include "fusion/partition/cut.h"
#include "runtime/layout.h"

namespace sluice::fusion {

// A block the plan allocates: row-major, no gaps.
struct Result {
  NodeId node = kNoNode;
  int64_t bytes = 0;
  bool observed = false;   // outlives the plan; else it is freed after `last_use`
  int32_t first_use = -1;  // the step that writes it; none if it is empty or no longer needed
  int32_t last_use = -1;   // the last step that touches it
  // Inputs or results whose memory it may reuse: the step reads each element of theirs just before
  // it writes the same element of this one. Inputs only if nothing else refers to their memory.
  std::vector<MemoryRef> donors;
  bool is_row_major = true;  // else its outputs say how it is laid out
};

// Where the value of a live node is after the plan ran.
struct Output {
  NodeId node = kNoNode;
  MemoryRef memory;
  Layout layout;  // its offset is relative to the base address of `memory`
};

struct Plan {
  std::vector<Step> steps;  // in the order in which they run
  std::vector<Result> results;
  std::vector<Output> outputs;
  std::vector<CutEdge> cuts;
  int64_t temporaries_elided = 0;
  int64_t bytes_elided = 0;
  int64_t values_recomputed = 0;  // steps that run once more, for want of memory
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_PLAN_H_
