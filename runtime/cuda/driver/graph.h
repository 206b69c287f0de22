// A CUDA graph of kernels, submitted by one call.
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
  std::vector<int> after;  // earlier nodes that must complete first
};

// Launches of one graph never overlap. The graph must outlive the batches that launched it. Not
// thread-safe.
class Graph {
 public:
  // Parameters are copied.
  static absl::StatusOr<std::unique_ptr<Graph>> make(Context* context,
                                                     absl::Span<const GraphNode> nodes);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Changes node `index` from the next launch on: function, geometry or parameters. After a failure
  // the graph must not be launched.
  absl::Status patch(int index, const KernelLaunch& kernel);

  // Called within the run() of a batch of `stream`, a stream of the graph's device.
  absl::Status launch(CudaStream* stream, absl::string_view label);

  int size() const { return static_cast<int>(nodes_.size()); }

 private:
  explicit Graph(Context* context) : context_(context) {}
  absl::Status build(absl::Span<const GraphNode> nodes);

  Context* const context_;
  GraphHandle graph_ = nullptr;  // kept: its node handles identify those of exec_
  GraphExecHandle exec_ = nullptr;
  std::vector<GraphNodeHandle> nodes_;
};

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_DRIVER_GRAPH_H_
