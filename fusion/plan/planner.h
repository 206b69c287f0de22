// Makes the plan of a graph.
#ifndef SLUICE_FUSION_PLAN_PLANNER_H_
#define SLUICE_FUSION_PLAN_PLANNER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fusion/graph/graph.h"
#include "fusion/plan/memory/save_memory.h"
#include "fusion/plan/plan.h"

namespace sluice::fusion {

struct PlanOptions {
  bool fuse = true;
  bool fast_math = false;   // arithmetic may change bits
  bool allow_tf32 = false;  // as in LibraryCall
  // Reductions of rows of a few elements may become pointwise instructions: the device combines the
  // elements of a row in the order of kernels/reduction.h.
  bool unrolls_rows = true;
  // Rows of some more elements take less time so too: the target has no masks for their ends.
  bool unrolls_longer_rows = false;
  // Scans are instructions of programs (fusion/ir/scan.h), not library calls.
  bool fuses_scans = true;
  // Library calls apply epilogues with the bits of the ops' own kernels.
  bool exact_epilogues = false;
  // Kernels of rows compute no point twice in their last pass, if they are told so. (Calls of
  // products may write over what their epilogues read wherever these are exact.)
  bool rows_in_place = false;
  // If set, runs of the plan should fit into it, at the cost of time.
  const MemoryBudget* budget = nullptr;
  // If set, called for each pass that changed something, in order.
  std::function<void(const std::string& pass, const std::string& before, const std::string& after)>
      observer;
};

// The passes that make a plan, in the order in which they run.
std::vector<const char*> plan_passes();

// Never fails for a graph the frontend can make; InternalError if a Program does not verify.
absl::StatusOr<Plan> make_plan(const Graph& graph, const PlanOptions& options);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_PLANNER_H_
