#include "engine/observe/kernel_totals.h"

#include <algorithm>
#include <tuple>

namespace sluice::engine {
namespace {

constexpr size_t kMaxKinds = 4096;

}  // namespace

void KernelTotals::add(const StepTotals& step, const std::string& device,
                       const kernels::StepTime& time) {
  Key key(step.name, device);
  if (totals_.size() >= kMaxKinds && !totals_.contains(key)) key.first = "...";
  KernelStats& stats = totals_[key];
  ++stats.count;
  stats.generic += time.generic;
  stats.nanoseconds += time.duration.count();
  stats.bytes += step.bytes;
  stats.flops += step.flops;
}

std::vector<KernelStats> KernelTotals::all() const {
  std::vector<KernelStats> result;
  for (const auto& [key, stats] : totals_) {
    result.push_back(stats);
    std::tie(result.back().name, result.back().device) = key;
  }
  std::sort(result.begin(), result.end(), [](const KernelStats& a, const KernelStats& b) {
    return std::tie(b.nanoseconds, a.name, a.device) < std::tie(a.nanoseconds, b.name, b.device);
  });
  return result;
}

}  // namespace sluice::engine
