#include "kernels/cuda/run/replay.h"

#include <algorithm>

#include "kernels/gpu/run/call.h"

namespace sluice::kernels::cuda {
namespace {

// Making a graph costs as much as tens of launches; most plans that run a few times run often.
constexpr int kRunsBeforeGraph = 4;
constexpr size_t kLeastLaunches = 2;

}  // namespace

runtime::cuda::KernelLaunch kernel_launch(const Launch& launch, absl::Span<const uint64_t> words) {
  runtime::cuda::KernelLaunch kernel;
  kernel.function = launch.function->handle;
  kernel.grid[0] = launch.blocks;
  kernel.block[0] = kThreads;
  kernel.params = {reinterpret_cast<const std::byte*>(words.data() + launch.words_at),
                   sizeof(uint64_t) * launch.num_words};
  return kernel;
}

Replay::~Replay() {
  if (graph_ != nullptr) gpu_.give_back_graph();
}

bool Replay::submit(runtime::cuda::CudaStream* stream, absl::Span<const Launch> launches,
                    absl::Span<const uint64_t> words, const std::string& label) {
  if (given_up_ || launches.size() < kLeastLaunches || ++runs_ <= kRunsBeforeGraph) return false;
  // A synchronous context reports failures at the launch that caused them.
  if (gpu_.device().context().synchronous()) return false;
  const bool is_current = graph_ == nullptr ? make(launches, words) : patch(launches, words);
  if (is_current && graph_->launch(stream, label).ok()) return true;
  // If the context is at fault, single launches fail alike. The graph is kept until this is
  // destroyed, as earlier runs may still use it.
  given_up_ = true;
  return false;
}

bool Replay::make(absl::Span<const Launch> launches, absl::Span<const uint64_t> words) {
  if (!gpu_.take_graph()) return false;
  std::vector<runtime::cuda::GraphNode> nodes;
  for (size_t i = 0; i < launches.size(); ++i) {
    runtime::cuda::GraphNode& node = nodes.emplace_back();
    node.kernel = kernel_launch(launches[i], words);
    if (i > 0) node.after = {static_cast<int>(i) - 1};
  }
  auto graph = runtime::cuda::Graph::make(&gpu_.device().context(), nodes);
  if (!graph.ok()) {
    gpu_.give_back_graph();
    return false;
  }
  graph_ = *std::move(graph);
  launches_.assign(launches.begin(), launches.end());
  words_.assign(words.begin(), words.end());
  return true;
}

bool Replay::patch(absl::Span<const Launch> launches, absl::Span<const uint64_t> words) {
  // Calls that were skipped for lack of memory have no launch.
  if (launches.size() != launches_.size()) return false;
  for (size_t i = 0; i < launches.size(); ++i) {
    const Launch& next = launches[i];
    const auto parameters = words.subspan(next.words_at, next.num_words);
    const auto former =
        absl::MakeConstSpan(words_).subspan(launches_[i].words_at, launches_[i].num_words);
    if (next.function == launches_[i].function && next.blocks == launches_[i].blocks &&
        parameters == former) {
      continue;
    }
    if (!graph_->patch(static_cast<int>(i), kernel_launch(next, words)).ok()) return false;
  }
  launches_.assign(launches.begin(), launches.end());
  words_.assign(words.begin(), words.end());
  return true;
}

Replay& Replays::on(const runtime::cuda::CudaStream* stream) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Replay>& replay = by_stream_[stream];
  if (replay == nullptr) replay = std::make_unique<Replay>(gpu_);
  return *replay;
}

}  // namespace sluice::kernels::cuda
