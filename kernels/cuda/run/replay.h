// Submits the launches of a recurring plan as one graph.
#ifndef SLUICE_KERNELS_CUDA_RUN_REPLAY_H_
#define SLUICE_KERNELS_CUDA_RUN_REPLAY_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "kernels/cuda/gpu.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/cuda/driver/graph.h"

namespace sluice::kernels::cuda {

// One kernel of a run.
struct Launch {
  size_t step = 0;
  const runtime::cuda::Function* function = nullptr;
  uint32_t blocks = 0;
  size_t words_at = 0, num_words = 0;  // its parameters, among those of all launches

  bool operator==(const Launch&) const = default;
};

runtime::cuda::KernelLaunch kernel_launch(const Launch& launch, absl::Span<const uint64_t> words);

// The graphs of a row of a plan's launches on one stream, on which runs begin one after another.
// Outlives them.
//
// Results of windows in flight have different addresses, which recur in turn; so there are several
// graphs, and each is launched with the parameters that it has, if it can be.
class Replay {
 public:
  explicit Replay(Gpu* gpu) : gpu_(*gpu) {}
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  // Submits all launches as one graph if they have recurred often enough for that to pay. False:
  // nothing was submitted, and they must be launched one by one. Gives up for good on graphs that
  // cannot be made, patched or launched.
  bool submit(runtime::cuda::CudaStream* stream, absl::Span<const Launch> launches,
              absl::Span<const uint64_t> words, const std::string& label);

 private:
  struct Instance {
    std::unique_ptr<runtime::cuda::Graph> graph;
    // Its current ones.
    std::vector<Launch> launches;
    std::vector<uint64_t> words;
    int64_t last_run = 0;

    bool differs(size_t node, absl::Span<const Launch> launches,
                 absl::Span<const uint64_t> words) const;
    void set(absl::Span<const Launch> launches, absl::Span<const uint64_t> words);
  };
  // Null if it cannot be had.
  Instance* instance_for(absl::Span<const Launch> launches, absl::Span<const uint64_t> words);
  Instance* make(absl::Span<const Launch> launches, absl::Span<const uint64_t> words);
  bool patch(Instance* instance, absl::Span<const Launch> launches,
             absl::Span<const uint64_t> words);

  Gpu& gpu_;
  int64_t runs_ = 0;
  bool given_up_ = false;
  size_t patched_ = 0;  // nodes, since the last graph was made
  std::vector<std::unique_ptr<Instance>> instances_;
};

// Of one plan, by stream: runs on different streams share no graph. Thread-safe.
// `number`: of the row of launches.
class Replays {
 public:
  explicit Replays(Gpu* gpu) : gpu_(gpu) {}

  // Streams are never destroyed.
  Replay& on(const runtime::cuda::CudaStream* stream, size_t number);

 private:
  Gpu* const gpu_;
  std::mutex mutex_;
  absl::flat_hash_map<std::pair<const runtime::cuda::CudaStream*, size_t>, std::unique_ptr<Replay>>
      by_stream_;  // guarded by mutex_
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_RUN_REPLAY_H_
