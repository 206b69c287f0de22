// The plans of a device, for all of its queues.
#ifndef SLUICE_ENGINE_RUN_SHARED_PLAN_CACHE_H_
#define SLUICE_ENGINE_RUN_SHARED_PLAN_CACHE_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include <sluice/device.h>
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "engine/run/plan_cache.h"

namespace sluice::engine {

// Thread-safe. A queue asks it for what its own PlanCache does not have.
class SharedPlanCache {
 public:
  // Lives until the process ends.
  static SharedPlanCache& of(Device device);

  // The plan of `signature`. If there is none, calls `make` without holding a lock and keeps what
  // it returns; who asks for the same plan meanwhile waits for it. If `make` throws, the next of
  // them tries.
  std::shared_ptr<const ReadyPlan> find_or_make(
      absl::Span<const uint64_t> signature, int64_t max_entries,
      absl::FunctionRef<std::shared_ptr<const ReadyPlan>()> make);

 private:
  void finish(absl::Span<const uint64_t> signature, std::shared_ptr<const ReadyPlan> plan,
              int64_t max_entries);

  std::mutex mutex_;  // guards all else
  std::condition_variable made_;
  PlanCache plans_;
  // Of the plans that are being made. Views of what their makers passed.
  absl::flat_hash_set<absl::Span<const uint64_t>> under_way_;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RUN_SHARED_PLAN_CACHE_H_
