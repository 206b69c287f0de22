// What kernel_stats() adds up.
#ifndef SLUICE_ENGINE_OBSERVE_KERNEL_TOTALS_H_
#define SLUICE_ENGINE_OBSERVE_KERNEL_TOTALS_H_

#include <string>
#include <utility>
#include <vector>

#include <sluice/stats.h>
#include "absl/container/flat_hash_map.h"
#include "engine/describe/describe.h"
#include "kernels/executor.h"

namespace sluice::engine {

// By name and device. The first 4,096 kinds are counted, later ones together as "...". Not
// thread-safe.
class KernelTotals {
 public:
  void add(const StepTotals& step, const std::string& device, const kernels::StepTime& time);
  void clear() { totals_.clear(); }
  // Those that took longest first.
  std::vector<KernelStats> all() const;

 private:
  using Key = std::pair<std::string, std::string>;  // name, device
  absl::flat_hash_map<Key, KernelStats> totals_;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_OBSERVE_KERNEL_TOTALS_H_
