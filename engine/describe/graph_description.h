// A graph that the trace has met. The recorder notes what a description takes; the description
// itself is made when somebody asks for it.
#ifndef SLUICE_ENGINE_DESCRIBE_GRAPH_DESCRIPTION_H_
#define SLUICE_ENGINE_DESCRIBE_GRAPH_DESCRIPTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/describe/describe.h"
#include "engine/run/plan_cache.h"
#include "trace/trace.h"

namespace sluice::engine {

class GraphDescription {
 public:
  GraphDescription(GraphNotes notes, std::shared_ptr<const ReadyPlan> plan);

  int64_t num_ops() const { return num_ops_; }
  const std::string& device() const { return device_; }
  const std::vector<StepTotals>& steps() const { return steps_; }
  const kernels::PlanCode& code() const { return *plan_->code; }

  // Made by the first call. Its steps have no kernels: see KernelDescriber. Thread-safe.
  const trace::Graph& graph();

  // Guarded by the recorder's mutex.
  int64_t windows_kept = 0;  // of this graph
  bool is_printed = false;   // with its kernels, by $SLUICE_DEBUG

 private:
  const std::shared_ptr<const ReadyPlan> plan_;
  const std::string device_;
  const int64_t num_ops_;
  const std::vector<StepTotals> steps_;
  std::once_flag is_described_;
  std::unique_ptr<const GraphNotes> notes_;  // until the graph is described
  trace::Graph graph_;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_DESCRIBE_GRAPH_DESCRIPTION_H_
