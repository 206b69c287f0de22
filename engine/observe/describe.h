// A window and its plan as the trace shows them.
#ifndef SLUICE_ENGINE_OBSERVE_DESCRIBE_H_
#define SLUICE_ENGINE_OBSERVE_DESCRIBE_H_

#include <string>

#include "absl/types/span.h"
#include "engine/record/window.h"
#include "engine/run/plan_cache.h"
#include "trace/trace.h"

namespace sluice::engine {

// Ops, steps and sums; not the cuts, nor which sites the ops have. `graph` is the window's.
trace::Graph describe(const Window& window, const fusion::Graph& graph, const ReadyPlan& plan);

// "mul+exp+sum"; of more ops than `most` "mul+exp+2 more".
std::string join_names(const fusion::Graph& graph, absl::Span<const fusion::NodeId> ops,
                       size_t most);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_OBSERVE_DESCRIBE_H_
