// Plans windows, and submits plans as batches on a stream.
#ifndef SLUICE_ENGINE_RUN_SCHEDULER_H_
#define SLUICE_ENGINE_RUN_SCHEDULER_H_

#include <memory>

#include "engine/observe/flush_observer.h"
#include "engine/record/window.h"
#include "engine/run/plan_cache.h"
#include "fusion/plan/memory/save_memory.h"
#include "kernels/cache/cache.h"
#include "runtime/backend.h"

namespace sluice::engine {

// The tier on which the settings ask kernels to run.
kernels::Tier tier_in_use();

// Plans the graph of a window for `device`. `observer`: null, or of the flush that needs the plan.
// `budget`: null, or what a run should fit into, at the cost of time.
std::shared_ptr<const ReadyPlan> prepare(const fusion::Graph& graph, PlanMode mode, Device device,
                                         FlushObserver* observer = nullptr,
                                         const fusion::MemoryBudget* budget = nullptr);

// Allocates what the plan writes, submits it and gives every live node its buffer: afterwards they
// are submitted. A result whose memory could not be allocated, and what depends on it, carries the
// failure. `observer`: of this flush, or null.
void submit(const Window& window, std::shared_ptr<const ReadyPlan> plan, runtime::Backend* backend,
            runtime::Stream* stream, runtime::SubmitMode mode,
            std::shared_ptr<FlushObserver> observer);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RUN_SCHEDULER_H_
