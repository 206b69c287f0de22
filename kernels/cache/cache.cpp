#include "kernels/cache/cache.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace sluice::kernels {
namespace {

// Beyond this many, kernels that no plan holds are dropped.
constexpr size_t kMaxKernels = 4096;

std::atomic<int64_t> hits{0};

class Cache {
 public:
  static Cache& get() {
    static Cache* cache = new Cache;
    return *cache;
  }

  // True if the kernel was cached.
  bool find(fusion::Program program, std::shared_ptr<Kernel>* kernel) {
    std::string key = fusion::canonical_key(program);
    std::lock_guard lock(mutex_);
    if (kernels_.size() >= limit_) drop_unused();
    const auto [it, inserted] = kernels_.try_emplace(std::move(key));
    if (inserted) it->second = std::make_shared<Kernel>(std::move(program));
    *kernel = it->second;
    return !inserted;
  }

 private:
  void drop_unused() {
    absl::erase_if(kernels_, [](const auto& entry) { return entry.second.use_count() == 1; });
    limit_ = std::max(kMaxKernels, 2 * kernels_.size());
  }

  std::mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<Kernel>> kernels_;
  size_t limit_ = kMaxKernels;
};

}  // namespace

std::shared_ptr<Kernel> find_kernel(fusion::Program program) {
  std::shared_ptr<Kernel> kernel;
  if (Cache::get().find(std::move(program), &kernel)) hits.fetch_add(1, std::memory_order_relaxed);
  return kernel;
}

CacheStats cache_stats() {
  const CompileCounts counts = compile_counts();
  return {counts.compiles, counts.failures, hits.load(std::memory_order_relaxed), counts.disk_hits,
          counts.slower};
}

}  // namespace sluice::kernels
