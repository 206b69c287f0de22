// The engine's own side of the counters.
#ifndef SLUICE_ENGINE_OBSERVE_COUNTERS_H_
#define SLUICE_ENGINE_OBSERVE_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace sluice::engine {

// Counted per flush or per launch, not per op, so that sharing them costs nothing.
struct Counters {
  std::atomic<int64_t> ops_executed{0}, windows{0}, kernels_launched{0}, library_calls{0},
      plan_hits{0}, plan_misses{0}, temporaries_elided{0}, bytes_elided{0}, bytes_read{0},
      bytes_written{0}, generic_tier_launches{0}, syncs{0}, values_evicted{0}, bytes_evicted{0},
      values_recomputed{0};
};

Counters& counters();

// What the recorder has done, for tests.
struct RecorderCounters {
  std::atomic<int64_t> graphs_noted{0};       // met for the first time
  std::atomic<int64_t> graphs_described{0};   // ops, steps and cuts
  std::atomic<int64_t> kernels_described{0};  // their programs
  std::atomic<int64_t> codes_made{0};         // their source and assembly
};

RecorderCounters& recorder_counters();

inline void count(std::atomic<int64_t>& counter, int64_t by = 1) {
  if (by != 0) counter.fetch_add(by, std::memory_order_relaxed);
}

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_OBSERVE_COUNTERS_H_
