// Windows that need more memory than there is.
#ifndef SLUICE_ENGINE_RUN_FIT_TO_MEMORY_H_
#define SLUICE_ENGINE_RUN_FIT_TO_MEMORY_H_

#include <memory>

#include "engine/observe/flush_observer.h"
#include "engine/record/window.h"
#include "engine/run/plan_cache.h"
#include "runtime/backend.h"
#include "runtime/stream.h"

namespace sluice::engine {

// A plan to run a window by, and whether its results will find memory.
struct FittingPlan {
  std::shared_ptr<const ReadyPlan> plan;
  bool fits = true;
};

// What to run `window` by, which is the next on the stream, under Config::memory_limit: `plan`, or
// if its results find no memory, even after the work in flight is done and what can be computed
// again has been given up, a plan that does the same in less (fusion/plan/memory/save_memory.h).
// Such plans stay with `plan`. `pins`: as for find_overwritable().
FittingPlan fit_to_memory(const Window& window, uint64_t pins,
                          std::shared_ptr<const ReadyPlan> plan, PlanMode mode,
                          runtime::Backend* backend, runtime::Stream* stream,
                          FlushObserver* observer);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RUN_FIT_TO_MEMORY_H_
