// Submits the launches of a recurring plan as one graph.
#ifndef SLUICE_KERNELS_CUDA_RUN_REPLAY_H_
#define SLUICE_KERNELS_CUDA_RUN_REPLAY_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
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

// The graph of one plan on one stream, on which runs begin one after another. Outlives them.
class Replay {
 public:
  explicit Replay(Gpu* gpu) : gpu_(*gpu) {}
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  // Submits all launches as one graph if they have recurred often enough for that to pay. False:
  // nothing was submitted, and they must be launched one by one. Gives up for good on a graph that
  // cannot be made, patched or launched.
  bool submit(runtime::cuda::CudaStream* stream, absl::Span<const Launch> launches,
              absl::Span<const uint64_t> words, const std::string& label);

 private:
  bool make(absl::Span<const Launch> launches, absl::Span<const uint64_t> words);
  bool patch(absl::Span<const Launch> launches, absl::Span<const uint64_t> words);

  Gpu& gpu_;
  int runs_ = 0;
  bool given_up_ = false;
  std::unique_ptr<runtime::cuda::Graph> graph_;
  // The graph's current launches and parameters.
  std::vector<Launch> launches_;
  std::vector<uint64_t> words_;
};

// Of one plan, by stream: runs on different streams share no graph. Thread-safe.
class Replays {
 public:
  explicit Replays(Gpu* gpu) : gpu_(gpu) {}

  // Streams are never destroyed.
  Replay& on(const runtime::cuda::CudaStream* stream);

 private:
  Gpu* const gpu_;
  std::mutex mutex_;
  absl::flat_hash_map<const runtime::cuda::CudaStream*, std::unique_ptr<Replay>>
      by_stream_;  // guarded by mutex_
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_RUN_REPLAY_H_
