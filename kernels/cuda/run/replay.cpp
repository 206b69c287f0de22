#include "kernels/cuda/run/replay.h"

#include <algorithm>

#include "kernels/gpu/run/call.h"

namespace sluice::kernels::cuda {
namespace {

// Making a graph costs as much as tens of launches; most plans that run a few times run often.
constexpr int64_t kRunsBeforeGraph = 4;
constexpr size_t kLeastLaunches = 2;
// After as many changes of nodes as it costs another graph is made, if a good part of the nodes
// would change: that is addresses in turn, and not a few scalars that are always new.
constexpr size_t kPatchesBeforeGraph = 32;
constexpr size_t kLargePart = 4;
constexpr size_t kMaxInstances = 8;

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
  for (size_t i = 0; i < instances_.size(); ++i) gpu_.give_back_graph();
}

bool Replay::submit(runtime::cuda::CudaStream* stream, absl::Span<const Launch> launches,
                    absl::Span<const uint64_t> words, const std::string& label) {
  if (given_up_ || launches.size() < kLeastLaunches || ++runs_ <= kRunsBeforeGraph) return false;
  // A synchronous context reports failures at the launch that caused them.
  if (gpu_.device().context().synchronous()) return false;
  Instance* const instance = instance_for(launches, words);
  if (instance != nullptr && instance->graph->launch(stream, label).ok()) {
    instance->last_run = runs_;
    return true;
  }
  // If the context is at fault, single launches fail alike. The graphs are kept until this is
  // destroyed, as earlier runs may still use them.
  given_up_ = true;
  return false;
}

// The one with these parameters, or the one that differs least from them, or a new one.
Replay::Instance* Replay::instance_for(absl::Span<const Launch> launches,
                                       absl::Span<const uint64_t> words) {
  Instance* best = nullptr;
  size_t fewest = launches.size() + 1;
  for (const std::unique_ptr<Instance>& instance : instances_) {
    // Calls that were skipped for lack of memory have no launch.
    if (launches.size() != instance->launches.size()) return nullptr;
    size_t count = 0;
    for (size_t i = 0; i < launches.size(); ++i) count += instance->differs(i, launches, words);
    if (count < fewest || (count == fewest && instance->last_run < best->last_run)) {
      best = instance.get();
      fewest = count;
    }
    if (count == 0) return best;
  }
  if (best == nullptr) return make(launches, words);
  if (fewest * kLargePart >= launches.size() && instances_.size() < kMaxInstances &&
      patched_ + fewest > kPatchesBeforeGraph && gpu_.has_many_graphs_left()) {
    patched_ = 0;
    return make(launches, words);
  }
  patched_ += fewest;
  return patch(best, launches, words) ? best : nullptr;
}

Replay::Instance* Replay::make(absl::Span<const Launch> launches,
                               absl::Span<const uint64_t> words) {
  if (!gpu_.take_graph()) return nullptr;
  std::vector<runtime::cuda::GraphNode> nodes;
  for (size_t i = 0; i < launches.size(); ++i) {
    runtime::cuda::GraphNode& node = nodes.emplace_back();
    node.kernel = kernel_launch(launches[i], words);
    if (i > 0) node.after = {static_cast<int>(i) - 1};
  }
  auto graph = runtime::cuda::Graph::make(&gpu_.device().context(), nodes);
  if (!graph.ok()) {
    gpu_.give_back_graph();
    return nullptr;
  }
  Instance& made = *instances_.emplace_back(std::make_unique<Instance>());
  made.graph = *std::move(graph);
  made.set(launches, words);
  return &made;
}

bool Replay::Instance::differs(size_t node, absl::Span<const Launch> next,
                               absl::Span<const uint64_t> next_words) const {
  const Launch& own = launches[node];
  const Launch& other = next[node];
  return own.function != other.function || own.blocks != other.blocks ||
         absl::MakeConstSpan(words).subspan(own.words_at, own.num_words) !=
             next_words.subspan(other.words_at, other.num_words);
}

void Replay::Instance::set(absl::Span<const Launch> next, absl::Span<const uint64_t> next_words) {
  launches.assign(next.begin(), next.end());
  words.assign(next_words.begin(), next_words.end());
}

bool Replay::patch(Instance* instance, absl::Span<const Launch> launches,
                   absl::Span<const uint64_t> words) {
  for (size_t i = 0; i < launches.size(); ++i) {
    if (!instance->differs(i, launches, words)) continue;
    const auto node = static_cast<int>(i);
    if (!instance->graph->patch(node, kernel_launch(launches[i], words)).ok()) return false;
  }
  instance->set(launches, words);
  return true;
}

Replay& Replays::on(const runtime::cuda::CudaStream* stream, size_t number) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Replay>& replay = by_stream_[{stream, number}];
  if (replay == nullptr) replay = std::make_unique<Replay>(gpu_);
  return *replay;
}

}  // namespace sluice::kernels::cuda
