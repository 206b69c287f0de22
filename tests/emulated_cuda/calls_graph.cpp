// Graphs: nodes run in a random order that respects their dependencies.
#include "tests/emulated_cuda/machine.h"

#include <algorithm>

namespace sluice::emulated {
namespace {

Result prepare_node(Machine& machine, Device* device, const runtime::cuda::KernelNodeParams& params,
                    Kernel* kernel) {
  Geometry geometry;
  std::copy_n(params.grid, 3, geometry.grid);
  std::copy_n(params.block, 3, geometry.block);
  geometry.shared_bytes = params.shared_bytes;
  return machine.prepare(device, params.function, geometry, params.params, params.extra, kernel);
}

// A launch of a graph, node by node. Launches of one graph do not overlap.
class GraphRun {
 public:
  GraphRun(Machine& machine, std::shared_ptr<GraphExec> exec)
      : machine_(machine), exec_(std::move(exec)), nodes_(exec_->nodes), done_(nodes_.size()) {
    for (Graph::Node& node : nodes_) machine_.resolve(&node.kernel);
  }
  ~GraphRun() {
    if (begun_) exec_->running = false;
  }

  bool ready() const { return begun_ || !exec_->running; }

  bool step() {
    begun_ = exec_->running = true;
    std::vector<size_t> runnable;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (done_[i]) continue;
      bool free = true;
      for (size_t before : nodes_[i].after) free &= done_[before];
      if (free) runnable.push_back(i);
    }
    if (runnable.empty()) return true;
    const size_t next = runnable[machine_.below(runnable.size())];
    machine_.run(nodes_[next].kernel);
    done_[next] = true;
    return ++finished_ == nodes_.size();
  }

 private:
  Machine& machine_;
  const std::shared_ptr<GraphExec> exec_;
  std::vector<Graph::Node> nodes_;
  std::vector<bool> done_;
  size_t finished_ = 0;
  bool begun_ = false;
};

}  // namespace

namespace calls {

Result graph_create(Machine& machine, GraphHandle* handle, unsigned) {
  Device* device = machine.current();
  if (device == nullptr) {
    return machine.violation(Result::kInvalidContext, "no context is current");
  }
  machine.graphs[*handle = machine.new_handle<GraphHandle>()] =
      std::make_shared<Graph>(Graph{device, {}});
  return Result::kSuccess;
}

Result graph_destroy(Machine& machine, GraphHandle handle) {
  if (machine.find(machine.graphs, handle) == nullptr) return Result::kInvalidHandle;
  machine.graphs.erase(handle);
  return Result::kSuccess;
}

Result graph_add_kernel_node(Machine& machine, GraphNodeHandle* handle, GraphHandle graph_handle,
                             const GraphNodeHandle* after, size_t num_after,
                             const KernelNodeParams* params) {
  const auto graph = machine.find(machine.graphs, graph_handle);
  if (graph == nullptr) return Result::kInvalidHandle;
  if (!machine.must_be_current(graph->device)) return Result::kInvalidContext;
  Graph::Node node;
  for (size_t i = 0; i < num_after; ++i) {
    size_t found = 0;
    while (found < graph->nodes.size() && graph->nodes[found].handle != after[i]) ++found;
    if (found == graph->nodes.size()) {
      return machine.violation(Result::kInvalidValue, "a dependency is no node of the graph");
    }
    node.after.push_back(found);
  }
  const Result result = prepare_node(machine, graph->device, *params, &node.kernel);
  if (result != Result::kSuccess) return result;
  *handle = node.handle = machine.new_handle<GraphNodeHandle>();
  graph->nodes.push_back(std::move(node));
  return Result::kSuccess;
}

Result graph_instantiate(Machine& machine, GraphExecHandle* handle, GraphHandle graph_handle,
                         unsigned long long) {
  const auto graph = machine.find(machine.graphs, graph_handle);
  if (graph == nullptr) return Result::kInvalidHandle;
  machine.execs[*handle = machine.new_handle<GraphExecHandle>()] =
      std::make_shared<GraphExec>(GraphExec{graph->device, graph_handle, graph->nodes, false});
  return Result::kSuccess;
}

Result graph_exec_destroy(Machine& machine, GraphExecHandle handle) {
  if (machine.find(machine.execs, handle) == nullptr) return Result::kInvalidHandle;
  machine.execs.erase(handle);
  return Result::kSuccess;
}

Result graph_exec_kernel_node_set_params(Machine& machine, GraphExecHandle handle,
                                         GraphNodeHandle node_handle,
                                         const KernelNodeParams* params) {
  const auto exec = machine.find(machine.execs, handle);
  if (exec == nullptr) return Result::kInvalidHandle;
  // Nodes are identified by the handles of the source graph.
  if (machine.find(machine.graphs, exec->source) == nullptr) return Result::kInvalidHandle;
  for (Graph::Node& node : exec->nodes) {
    if (node.handle != node_handle) continue;
    Kernel kernel;
    const Result result = prepare_node(machine, exec->device, *params, &kernel);
    if (result == Result::kSuccess) node.kernel = std::move(kernel);
    return result;
  }
  return machine.violation(Result::kInvalidValue, "no node of the graph");
}

Result graph_launch(Machine& machine, GraphExecHandle handle, StreamHandle stream_handle) {
  const auto exec = machine.find(machine.execs, handle);
  const auto stream = machine.find(machine.streams, stream_handle);
  if (exec == nullptr || stream == nullptr) return Result::kInvalidHandle;
  if (!machine.must_be_current(stream->device)) return Result::kInvalidContext;
  if (exec->device != stream->device) {
    return machine.violation(Result::kInvalidHandle, "graph and stream are of two devices");
  }
  auto run = std::make_shared<GraphRun>(machine, exec);
  machine.push(
      stream.get(), [run] { return run->step(); }, [run] { return run->ready(); });
  return Result::kSuccess;
}

}  // namespace calls
}  // namespace sluice::emulated
