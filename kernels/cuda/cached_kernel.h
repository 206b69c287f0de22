// One GPU kernel: its programs, and the function that they have been compiled to.
#ifndef SLUICE_KERNELS_CUDA_CACHED_KERNEL_H_
#define SLUICE_KERNELS_CUDA_CACHED_KERNEL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "fusion/ir/program.h"
#include "kernels/cuda/compile/compiler.h"
#include "kernels/description.h"
#include "kernels/gpu/emit/emit.h"
#include "runtime/cuda/driver/module.h"

namespace sluice::kernels::cuda {

// What one launch runs, without its arguments: see Kernel in kernels/gpu/emit/emit.h.
struct LaunchCode {
  std::vector<KernelProgram> programs;
  bool by_table = false;
  bool wide = false;
  std::string label;  // names it in messages, such as by the user's ops
  int64_t table_words = 0;
};

// A kernel and its state: cold, being compiled, ready or failed. Thread-safe. A launch holds a
// reference until the device has run it. The cache unloads its kernels when it is destroyed,
// whoever still refers to them.
class CachedKernel {
 public:
  explicit CachedKernel(const LaunchCode& code, const std::string& key);

  // Null unless it is ready.
  const runtime::cuda::Function* function() const { return ready_.load(std::memory_order_acquire); }
  // Why there is no function, with the label; ok if it is cold or being compiled.
  absl::Status failure() const;

  // Of a ready kernel: as the compiler reports them, or else the driver.
  const KernelResources& resources() const { return resources_; }

  KernelDescription describe(bool with_code) const;

  const std::string& label() const { return label_; }  // of the first launch that asked for it
  const std::string& name() const { return name_; }    // in the source, so profilers show it

 private:
  friend class KernelCache;
  enum class State : uint8_t { kCold, kWaiting, kCompiling, kReady, kFailed };

  Kernel emitted() const;
  absl::Status load(std::shared_ptr<const runtime::cuda::Module> module, const CompiledCode& code);
  void unload();
  void set_failure(const absl::Status& why);

  const std::vector<OwnProgram> programs_;
  const bool by_table_;
  const int64_t table_words_;
  const bool wide_;
  const bool contracts_;
  const std::string label_;
  const std::string name_;

  State state_ = State::kCold;  // guarded by the cache's mutex, as the next one
  int failed_loads_ = 0;

  // Written by the thread that compiles it, before ready_.
  std::shared_ptr<const runtime::cuda::Module> module_;
  runtime::cuda::Function function_;
  KernelResources resources_;
  std::atomic<const runtime::cuda::Function*> ready_{nullptr};

  mutable std::mutex failure_mutex_;
  absl::Status failure_;  // guarded by failure_mutex_
};

using KernelRef = std::shared_ptr<CachedKernel>;

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_CACHED_KERNEL_H_
