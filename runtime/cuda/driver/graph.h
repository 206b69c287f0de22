// A fixed sequence of kernels that is submitted by one call.
#ifndef SLUICE_RUNTIME_CUDA_DRIVER_GRAPH_H_
#define SLUICE_RUNTIME_CUDA_DRIVER_GRAPH_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/cuda/driver/kernel_launch.h"

namespace sluice::runtime::cuda {

struct GraphNode {
  KernelLaunch kernel;
  std::vector<int> after;  // earlier nodes that have to be done first
};

// Launches of one graph never overlap. A graph is kept alive until the batches that launched it are
// done. One thread at a time.
class Graph {
 public:
  // Parameters are copied.
  static absl::StatusOr<std::unique_ptr<Graph>> make(Context* context,
                                                     absl::Span<const GraphNode> nodes);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // What node `index` does from the next launch on: another function, geometry or parameters.
  // After a failure the graph is not to be launched.
  absl::Status patch(int index, const KernelLaunch& kernel);

  // Within the run() of a batch of `stream`, a stream of the graph's device.
  absl::Status launch(CudaStream* stream, absl::string_view label);

  int size() const { return static_cast<int>(nodes_.size()); }

 private:
  explicit Graph(Context* context) : context_(context) {}
  absl::Status build(absl::Span<const GraphNode> nodes);

  Context* const context_;
  GraphHandle graph_ = nullptr;  // lives on: its nodes name those of exec_
  GraphExecHandle exec_ = nullptr;
  std::vector<GraphNodeHandle> nodes_;
};

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_DRIVER_GRAPH_H_
