#include "kernels/executor.h"

#include <map>
#include <mutex>
#include <utility>

#include <sluice/error.h>
#include "kernels/cache/compile_threads.h"
#include "kernels/cpu/cpu_executor.h"
#include "kernels/cuda/executor.h"
#include "runtime/status_error.h"

namespace sluice::kernels {
namespace {

// Never destroyed: plans may be destroyed after main.
struct Registry {
  std::mutex mutex;
  // By kind and index, but for the CPU. Guarded by mutex.
  std::map<std::pair<DeviceType, int>, std::unique_ptr<Executor>> executors;
};
Registry& registry() {
  static Registry* registry = new Registry;
  return *registry;
}

std::vector<Executor*> all_executors() {
  std::vector<Executor*> result = {&cpu_executor()};
  std::lock_guard lock(registry().mutex);
  for (const auto& [device, executor] : registry().executors) result.push_back(executor.get());
  return result;
}

}  // namespace

Executor& executor(Device device) {
  if (device.type() == DeviceType::kCpu) return cpu_executor();
  std::lock_guard lock(registry().mutex);
  std::unique_ptr<Executor>& made = registry().executors[{device.type(), device.index()}];
  if (made == nullptr) {
    absl::StatusOr<std::unique_ptr<Executor>> executor = cuda::make_executor(device.index());
    if (!executor.ok()) throw error_of(executor.status());
    made = *std::move(executor);
  }
  return *made;
}

CacheStats total_cache_stats() {
  CacheStats total;
  for (const Executor* executor : all_executors()) {
    const CacheStats own = executor->cache_stats();
    total.compiles += own.compiles;
    total.compile_failures += own.compile_failures;
    total.hits += own.hits;
    total.disk_hits += own.disk_hits;
    total.slower += own.slower;
  }
  return total;
}

void wait_for_compilers() {
  for (Executor* executor : all_executors()) executor->wait_for_compiler();
}

void stop_compilers() { CompileThreads::get().stop(); }

}  // namespace sluice::kernels
