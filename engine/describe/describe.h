// A window and its plan as the trace shows them.
#ifndef SLUICE_ENGINE_DESCRIBE_DESCRIBE_H_
#define SLUICE_ENGINE_DESCRIBE_DESCRIBE_H_

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include <sluice/device.h>
#include "absl/types/span.h"
#include "engine/describe/provenance.h"
#include "engine/record/window.h"
#include "fusion/graph/graph.h"
#include "fusion/plan/plan.h"
#include "trace/trace.h"

namespace sluice::engine {

// All that a description of a window needs, so that it can be made when the window is gone. Nodes
// are those of `graph`: the inputs, then the ops.
struct GraphNotes {
  Device device = Device::cpu();
  fusion::Graph graph;
  std::vector<Provenance> provenance;        // by input
  std::vector<int32_t> sites;                // by op: its number in Trace::sites, or -1
  std::vector<int32_t> scopes;               // by op: its number in Trace::scopes, or -1
  std::vector<uint16_t> names;               // by node: its number in NodeNames
  std::vector<bool> is_held;                 // by node: an op on which somebody has a handle
  std::vector<std::source_location> places;  // by node: where an op was called
};

// Of a window that is about to be submitted. Costs about as much as a copy of its graph.
GraphNotes take_notes(const Window& window, std::vector<int32_t> sites,
                      std::vector<Provenance> provenance);

// Ops, steps and cuts. The steps have no kernels.
trace::Graph describe(const GraphNotes& notes, const fusion::Plan& plan);

// What kernel_stats() counts of a run of a step.
struct StepTotals {
  std::string name;
  int64_t bytes = 0;
  int64_t flops = 0;
};
std::vector<StepTotals> totals_of_steps(const fusion::Graph& graph, const fusion::Plan& plan);

// "mul+exp+sum"; of more ops than `most` "mul+exp+2 more".
std::string join_names(const fusion::Graph& graph, absl::Span<const fusion::NodeId> ops,
                       size_t most);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_DESCRIBE_DESCRIBE_H_
