// A window and its plan as the trace shows them.
#ifndef SLUICE_ENGINE_DESCRIBE_H_
#define SLUICE_ENGINE_DESCRIBE_H_

#include "sluice/engine/plan_cache.h"
#include "sluice/engine/window.h"
#include "sluice/trace/trace.h"

namespace sluice::engine {

// Ops, steps and sums; not the cuts, nor which sites the ops have. `graph` is the window's.
trace::Graph describe(const Window& window, const fusion::Graph& graph, const ReadyPlan& plan);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_DESCRIBE_H_
