// Runs a plan in separate memory, to inspect its results.
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
  std::vector<runtime::BufferRef> results;  // by number; null if the plan dropped it
  absl::Status status;                      // of the first step that could not run
  bool is_out_of_range = false;             // an op met an index outside its axis
};

// Runs the plan with a new block for each result, and waits for it. Inputs are neither changed nor
// retained; failures are reported only in the returned value. Throws Error if there is not enough
// memory.
ShadowRun run_shadow(const std::shared_ptr<const ReadyPlan>& plan, absl::Span<Node* const> inputs,
                     absl::Span<const uint64_t> scalars, kernels::Tier tier,
                     runtime::Backend* backend, runtime::Stream* stream);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_VALIDATE_SHADOW_RUN_H_
