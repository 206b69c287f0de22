#include "engine/describe/graph_description.h"

#include <utility>

#include "engine/observe/counters.h"

namespace sluice::engine {

GraphDescription::GraphDescription(GraphNotes notes, std::shared_ptr<const ReadyPlan> plan)
    : plan_(std::move(plan)),
      device_(to_string(notes.device)),
      num_ops_(static_cast<int64_t>(notes.graph.nodes.size())),
      steps_(totals_of_steps(notes.graph, plan_->plan())),
      notes_(std::make_unique<const GraphNotes>(std::move(notes))) {
  count(recorder_counters().graphs_noted);
}

const trace::Graph& GraphDescription::graph() {
  std::call_once(is_described_, [this] {
    graph_ = describe(*notes_, plan_->plan());
    notes_.reset();
    count(recorder_counters().graphs_described);
  });
  return graph_;
}

}  // namespace sluice::engine
