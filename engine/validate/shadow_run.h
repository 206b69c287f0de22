// Runs a plan to look at what it gives.
#ifndef SLUICE_ENGINE_VALIDATE_SHADOW_RUN_H_
#define SLUICE_ENGINE_VALIDATE_SHADOW_RUN_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "engine/record/node.h"
#include "engine/run/plan_cache.h"
#include "kernels/cache/cache.h"
#include "runtime/backend.h"
#include "runtime/stream.h"

namespace sluice::engine {

struct ShadowRun {
  std::vector<runtime::BufferRef> results;  // by number; null: of a result that the plan dropped
  absl::Status status;                      // of the first step that could not be run
  bool is_out_of_range = false;             // an op met an index outside its axis
};

// Runs the plan in memory of its own, one block for each result, and returns when that is over.
// Inputs are neither changed nor kept, and failures are reported in the answer only. Throws Error
// if there is not enough memory.
ShadowRun run_shadow(const std::shared_ptr<const ReadyPlan>& plan, absl::Span<Node* const> inputs,
                     absl::Span<const uint64_t> scalars, kernels::Tier tier,
                     runtime::Backend* backend, runtime::Stream* stream);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_VALIDATE_SHADOW_RUN_H_
