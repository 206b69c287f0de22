// cuDNN on one GPU: its handle, and what runs plans with it.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_HANDLE_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_HANDLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/cuda/library/cudnn/plan.h"
#include "kernels/cuda/library/library.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/cuda/driver/context.h"

namespace sluice::kernels::cuda {

// Thread-safe. Outlives the work it is given.
class DnnOnDevice {
 public:
  // Null where there is no such library, or it does not start. What the device has outlives it.
  static std::unique_ptr<DnnOnDevice> open(const LibraryDevice& device);
  ~DnnOnDevice();
  DnnOnDevice(const DnnOnDevice&) = delete;
  DnnOnDevice& operator=(const DnnOnDevice&) = delete;

  runtime::cuda::Context* context() const { return context_; }
  int64_t version() const;  // 91900: 9.19

  // Null if no engine suits.
  absl::StatusOr<std::unique_ptr<DnnPlan>> make_plan(const DnnWork& work) const;

  // Within the run() of a batch of `stream`. False: the library refused, and nothing was done.
  absl::StatusOr<bool> enqueue(runtime::cuda::CudaStream* stream, const DnnPlan& plan,
                               absl::Span<const int64_t> ids, absl::Span<void* const> tensors,
                               absl::string_view label);

 private:
  DnnOnDevice(runtime::cuda::Context* context, const Cudnn& library)
      : context_(context), library_(library) {}

  runtime::cuda::Context* const context_;
  const Cudnn& library_;
  std::mutex running_;  // a handle is one thread's at a time
  DnnHandle handle_ = nullptr;
};

// The plans of what a device was asked for, the latest of them. Thread-safe. `Of` can be a key, and
// has work().
template <typename Of>
class DnnPlans {
 public:
  struct Planned {
    std::mutex mutex;  // guards `plan` until it is made
    // can_run stays false for good once the library has refused.
    std::atomic<bool> is_made{false}, can_run{false};
    std::unique_ptr<DnnPlan> plan;
  };

  // `device` outlives it.
  explicit DnnPlans(const DnnOnDevice* device) : device_(*device) {}
  ~DnnPlans() {
    const runtime::cuda::CurrentContext current(device_.context());
    plans_.clear();
    older_plans_.clear();
  }
  DnnPlans(const DnnPlans&) = delete;
  DnnPlans& operator=(const DnnPlans&) = delete;

  // With its plan, if there is one; by the engine of `like` if there is such a plan.
  // kResourceExhausted: there was no memory to make it.
  absl::StatusOr<std::shared_ptr<Planned>> find(const Of& of, const DnnPlan* like = nullptr) {
    using runtime::cuda::CurrentContext;
    std::shared_ptr<Planned> planned = entry_of(of);
    if (planned->is_made.load(std::memory_order_acquire)) return planned;
    // To make a plan may take a second: others are made meanwhile.
    std::lock_guard lock(planned->mutex);
    if (planned->is_made.load(std::memory_order_relaxed)) return planned;
    const CurrentContext current(device_.context());
    if (!current.status().ok()) return current.status();
    DnnWork work = of.work();
    if (like != nullptr) work.engine = like->engine();
    absl::StatusOr<std::unique_ptr<DnnPlan>> plan = device_.make_plan(work);
    if (!plan.ok()) return plan.status();
    planned->plan = *std::move(plan);
    planned->can_run = planned->plan != nullptr;
    planned->is_made.store(true, std::memory_order_release);
    return planned;
  }

 private:
  using Plans = absl::flat_hash_map<Of, std::shared_ptr<Planned>>;
  static constexpr size_t kMost = 1024;

  std::shared_ptr<Planned> entry_of(const Of& of) {
    std::shared_ptr<Planned> planned;
    Plans dropped;
    {
      std::lock_guard lock(mutex_);
      if (plans_.size() >= kMost) {
        dropped = std::exchange(older_plans_, std::exchange(plans_, {}));
      }
      std::shared_ptr<Planned>& kept = plans_[of];
      if (const auto it = older_plans_.find(of); it != older_plans_.end()) {
        kept = std::move(it->second);
        older_plans_.erase(it);
      }
      if (kept == nullptr) kept = std::make_shared<Planned>();
      planned = kept;
    }
    if (!dropped.empty()) {
      // The device may be running them.
      const runtime::cuda::CurrentContext current(device_.context());
      if (current.status().ok()) {
        device_.context()->template call<&runtime::cuda::Driver::ctx_synchronize>().IgnoreError();
      }
      dropped.clear();
    }
    return planned;
  }

  const DnnOnDevice& device_;
  std::mutex mutex_;
  Plans plans_, older_plans_;  // guarded by mutex_
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_HANDLE_H_
