#include "engine/run/plan_cache.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice::engine {
namespace {

constexpr int64_t kMaxNodes = int64_t{1} << 19;

}  // namespace

std::string to_string(const ValueLabel& label, const char* name) {
  return absl::StrCat(name == nullptr ? fusion::name_of(label.op) : name, " (result ",
                      sluice::name_of(label.dtype), sluice::to_string(label.shape), ")");
}

BlocksCache::~BlocksCache() {
  for (const Entry* entry = first_.load(); entry != nullptr;) {
    delete std::exchange(entry, entry->next);
  }
}

const fusion::Blocks& BlocksCache::of(const fusion::Plan& plan,
                                      absl::Span<const fusion::InputMemory> inputs,
                                      fusion::Blocks* other) const {
  for (const Entry* entry = first_.load(std::memory_order_acquire); entry != nullptr;
       entry = entry->next) {
    if (entry->inputs == inputs) return entry->blocks;
  }
  *other = fusion::place_results(plan, inputs, {});
  const std::lock_guard lock(mutex_);
  if (num_entries_ == kMaxEntries) return *other;
  ++num_entries_;
  const auto* added = new Entry{{inputs.begin(), inputs.end()}, std::move(*other), first_.load()};
  first_.store(added, std::memory_order_release);
  return added->blocks;
}

std::shared_ptr<const ReadyPlan> ThriftyPlans::find_or_make(
    int64_t bytes, absl::FunctionRef<int64_t(const ReadyPlan&)> needed,
    absl::FunctionRef<std::shared_ptr<const ReadyPlan>()> make) const {
  const std::lock_guard lock(mutex_);
  const Entry* least = nullptr;
  int64_t least_needed = 0;
  bool is_least_known = false;
  for (const Entry& entry : entries_) {
    is_least_known |= entry.asked_for <= bytes;
    const int64_t needs = needed(*entry.plan);
    if (needs <= bytes) return entry.plan;
    if (least == nullptr || needs < least_needed) {
      least = &entry;
      least_needed = needs;
    }
  }
  if (is_least_known) return least->plan;
  std::shared_ptr<const ReadyPlan> made = make();
  if (entries_.size() == kMaxEntries) entries_.erase(entries_.begin());
  entries_.push_back({bytes, std::move(made)});
  return entries_.back().plan;
}

std::shared_ptr<const ReadyPlan> PlanCache::find(absl::Span<const uint64_t> signature) {
  // Most likely the last one again: compare it before hashing.
  if (!entries_.empty() && entries_.front().signature == signature) return entries_.front().plan;
  const auto it = index_.find(signature);
  if (it == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, it->second);
  return it->second->plan;
}

void PlanCache::insert(absl::Span<const uint64_t> signature, std::shared_ptr<const ReadyPlan> plan,
                       int64_t max_entries) {
  num_nodes_ += plan->num_nodes;
  entries_.push_front({{signature.begin(), signature.end()}, std::move(plan)});
  index_[entries_.front().signature] = entries_.begin();
  while (entries_.size() > 1 &&
         (static_cast<int64_t>(entries_.size()) > max_entries || num_nodes_ > kMaxNodes)) {
    num_nodes_ -= entries_.back().plan->num_nodes;
    index_.erase(entries_.back().signature);
    entries_.pop_back();
  }
}

}  // namespace sluice::engine
