// GPU kernels by what they compute: each distinct one is emitted, compiled and loaded once.
#ifndef SLUICE_KERNELS_CUDA_KERNEL_CACHE_H_
#define SLUICE_KERNELS_CUDA_KERNEL_CACHE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "fusion/ir/program.h"
#include "kernels/cache/cache.h"
#include "kernels/cuda/compile/compiler.h"
#include "kernels/gpu/emit/emit.h"
#include "runtime/cuda/driver/context.h"
#include "runtime/cuda/driver/module.h"

namespace sluice::kernels::cuda {

// What one launch runs, but for its arguments: see Kernel in kernels/gpu/emit/emit.h.
struct LaunchCode {
  std::vector<const fusion::Program*> programs;
  bool by_table = false;
  bool wide = false;
  std::string label;  // what messages call it, such as the user's ops
};

// A kernel and what has become of it. Thread-safe. Whoever launches it keeps it until the device
// has run it; its cache unloads it in any case when it goes.
class CachedKernel {
 public:
  explicit CachedKernel(const LaunchCode& code, const std::string& key);

  // Null if it is not compiled or not yet.
  const runtime::cuda::Function* function() const { return ready_.load(std::memory_order_acquire); }
  // Why there is no function, with the label; ok if that has not been tried or is under way.
  absl::Status failure() const;

  // Of a kernel with a function: what the compiler says, or else the driver.
  const KernelResources& resources() const { return resources_; }

  KernelDescription describe(bool with_code) const;

  const std::string& label() const { return label_; }  // of the first launch that asked for it
  const std::string& name() const { return name_; }    // in the source and so for profilers

 private:
  friend class KernelCache;
  enum class State : uint8_t { kCold, kWaiting, kCompiling, kReady, kFailed };

  Kernel emitted() const;
  absl::Status load(std::shared_ptr<const runtime::cuda::Module> module, const CompiledCode& code);
  void unload();
  void set_failure(const absl::Status& why);

  const std::vector<fusion::Program> programs_;
  const bool by_table_;
  const bool wide_;
  const bool contracts_;
  const std::string label_;
  const std::string name_;

  State state_ = State::kCold;  // guarded by the cache's mutex, as the next one
  int failed_loads_ = 0;

  // Written by the one thread that has the kernel in kCompiling, before ready_.
  std::shared_ptr<const runtime::cuda::Module> module_;
  runtime::cuda::Function function_;
  KernelResources resources_;
  std::atomic<const runtime::cuda::Function*> ready_{nullptr};

  mutable std::mutex failure_mutex_;
  absl::Status failure_;  // guarded by failure_mutex_
};

using KernelRef = std::shared_ptr<CachedKernel>;

struct KernelCacheStats {
  int64_t hits = 0;
  int64_t misses = 0;
  int64_t compiles = 0;          // kernels
  int64_t compile_failures = 0;  // likewise
  int64_t disk_hits = 0;         // kernels that another process had compiled
  int64_t sources = 0;           // that were compiled; one has several kernels
};

// The kernels of one GPU. Thread-safe; nothing is locked during a compilation.
class KernelCache {
 public:
  // `context` outlives the cache.
  KernelCache(runtime::cuda::Context* context, std::unique_ptr<Compiler> compiler);
  ~KernelCache();  // waits for compilations under way, drops those that have not begun
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  // The kernel of each launch, new or not. Programs are compared as a whole, never by a hash alone.
  std::vector<KernelRef> find(absl::Span<const LaunchCode> launches);

  // Sees to it that kernels without a function get one: under kAsync some time, on another thread;
  // under kCompiled before this returns, and the status is the first failure then; under
  // kInterpreted never. Several that are cold are compiled as one source. What the compiler refuses
  // is not tried again; what the driver does not load is, a few times, when it is asked for again.
  absl::Status compile(absl::Span<const KernelRef> kernels, Tier tier);

  // Makes the compiler ready on another thread: its first use is slow.
  void warm_up();

  // Returns once no compilation is under way or waiting.
  void wait();

  KernelCacheStats stats() const;

 private:
  struct Work;
  struct Shared;
  static std::shared_ptr<Work> divide(std::vector<KernelRef> kernels);

  // Tasks that come to nothing after the cache's end may hold it longer.
  const std::shared_ptr<Shared> shared_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_KERNEL_CACHE_H_
