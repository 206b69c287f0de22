#include "runtime/cuda/driver/graph.h"

namespace sluice::runtime::cuda {
namespace {

KernelNodeParams to_params(const KernelLaunch& kernel, ParamList* params) {
  KernelNodeParams node = {};
  node.function = kernel.function;
  for (int i = 0; i < 3; ++i) {
    node.grid[i] = kernel.grid[i];
    node.block[i] = kernel.block[i];
  }
  node.shared_bytes = kernel.shared_bytes;
  node.extra = params->extra();
  return node;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Graph>> Graph::make(Context* context,
                                                   absl::Span<const GraphNode> nodes) {
  std::unique_ptr<Graph> graph(new Graph(context));
  const absl::Status status = graph->build(nodes);
  if (!status.ok()) return status;
  return graph;
}

absl::Status Graph::build(absl::Span<const GraphNode> nodes) {
  const CurrentContext current(context_);
  absl::Status status = current.status();
  if (status.ok()) status = context_->call<&Driver::graph_create>(&graph_, 0u);
  std::vector<GraphNodeHandle> after;
  for (const GraphNode& node : nodes) {
    if (!status.ok()) return status;
    after.clear();
    for (int index : node.after) after.push_back(nodes_[index]);
    ParamList list(node.kernel.params);
    const KernelNodeParams params = to_params(node.kernel, &list);
    status = context_->call<&Driver::graph_add_kernel_node>(&nodes_.emplace_back(), graph_,
                                                            after.data(), after.size(), &params);
  }
  status.Update(context_->call<&Driver::graph_instantiate>(&exec_, graph_, 0ull));
  return status;
}

Graph::~Graph() {
  const CurrentContext current(context_);
  if (exec_ != nullptr) context_->driver().graph_exec_destroy(exec_);
  if (graph_ != nullptr) context_->driver().graph_destroy(graph_);
}

absl::Status Graph::patch(int index, const KernelLaunch& kernel) {
  const CurrentContext current(context_);
  if (!current.status().ok()) return current.status();
  ParamList list(kernel.params);
  const KernelNodeParams params = to_params(kernel, &list);
  return context_->call<&Driver::graph_exec_kernel_node_set_params>(exec_, nodes_[index], &params);
}

absl::Status Graph::launch(CudaStream* stream, absl::string_view label) {
  return stream->enqueue(
      label, [&] { return context_->call<&Driver::graph_launch>(exec_, stream->handle()); });
}

}  // namespace sluice::runtime::cuda
