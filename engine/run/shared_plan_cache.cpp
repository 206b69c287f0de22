#include "engine/run/shared_plan_cache.h"

#include <map>
#include <mutex>
#include <utility>

namespace sluice::engine {

SharedPlanCache& SharedPlanCache::of(Device device) {
  // Never destroyed, like the queues.
  static auto* mutex = new std::mutex;
  static auto* caches = new std::map<std::pair<DeviceType, int>, SharedPlanCache>;
  const std::lock_guard lock(*mutex);
  return (*caches)[{device.type(), device.index()}];
}

std::shared_ptr<const ReadyPlan> SharedPlanCache::find_or_make(
    absl::Span<const uint64_t> signature, int64_t max_entries,
    absl::FunctionRef<std::shared_ptr<const ReadyPlan>()> make) {
  {
    std::unique_lock lock(mutex_);
    made_.wait(lock, [&] { return !under_way_.contains(signature); });
    if (std::shared_ptr<const ReadyPlan> plan = plans_.find(signature)) return plan;
    under_way_.insert(signature);
  }
  std::shared_ptr<const ReadyPlan> plan;
  try {
    plan = make();
  } catch (...) {
    finish(signature, nullptr, max_entries);
    throw;
  }
  finish(signature, plan, max_entries);
  return plan;
}

// `plan`: null if it could not be made.
void SharedPlanCache::finish(absl::Span<const uint64_t> signature,
                             std::shared_ptr<const ReadyPlan> plan, int64_t max_entries) {
  {
    const std::lock_guard lock(mutex_);
    under_way_.erase(signature);
    if (plan != nullptr) plans_.insert(signature, std::move(plan), max_entries);
  }
  made_.notify_all();
}

}  // namespace sluice::engine
