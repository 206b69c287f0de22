// GPU kernels by what they compute: each distinct one is emitted, compiled and loaded once.
#ifndef SLUICE_KERNELS_CUDA_KERNEL_CACHE_H_
#define SLUICE_KERNELS_CUDA_KERNEL_CACHE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/cache/cache.h"
#include "kernels/cuda/cached_kernel.h"
#include "kernels/cuda/compile/compiler.h"
#include "runtime/cuda/driver/context.h"

namespace sluice::kernels::cuda {

struct KernelCacheStats {
  int64_t hits = 0;
  int64_t misses = 0;
  int64_t compiles = 0;          // kernels
  int64_t compile_failures = 0;  // likewise
  int64_t disk_hits = 0;         // kernels that another process had compiled
  int64_t sources = 0;           // compiled; a source has several kernels
};

// The kernels of one GPU. Thread-safe; nothing is locked during a compilation.
class KernelCache {
 public:
  // `context` outlives the cache.
  KernelCache(runtime::cuda::Context* context, std::unique_ptr<Compiler> compiler);
  ~KernelCache();  // waits for running compilations, drops queued ones
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  // The kernel of each launch; new ones are cold. Whole programs are compared, never hashes alone.
  std::vector<KernelRef> find(absl::Span<const LaunchCode> launches);

  // Compiles the kernels that are cold, several as one source. kAsync: later, on other threads.
  // kCompiled: before this returns; the status is the first failure. kInterpreted: does nothing.
  // What the compiler refuses is not tried again. What the driver does not load is tried again by
  // later calls, a few times.
  absl::Status compile(absl::Span<const KernelRef> kernels, Tier tier);

  // Initialises the compiler on another thread: its first use is slow.
  void warm_up();

  // Returns once no compilation is running or queued.
  void wait();

  KernelCacheStats stats() const;

 private:
  struct Work;
  struct Shared;
  static std::shared_ptr<Work> divide(std::vector<KernelRef> kernels);

  // Tasks that are still queued when the cache is destroyed hold it longer, and then do nothing.
  const std::shared_ptr<Shared> shared_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_KERNEL_CACHE_H_
