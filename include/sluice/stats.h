// Counters of what the engine did.
#ifndef SLUICE_STATS_H_
#define SLUICE_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace sluice {

// Process-wide sums since the start or the last reset_stats().
struct Stats {
  // Ops appended to a queue. Scalar operands are not ops.
  int64_t ops_recorded = 0;
  // Ops whose result was needed, in a kernel of their own or fused.
  int64_t ops_executed = 0;
  // Flushes that had something to run.
  int64_t windows = 0;
  // Launches of own kernels, without library calls.
  int64_t kernels_launched = 0;
  int64_t library_calls = 0;
  // Completed compilations.
  int64_t compiles = 0;
  int64_t compile_failures = 0;
  // Kernels that run interpreted again, since their compiled form took longer; never under
  // Config::deterministic.
  int64_t compiled_slower = 0;
  int64_t plan_hits = 0;
  int64_t plan_misses = 0;
  // Kernels of new plans that were in the cache.
  int64_t kernel_cache_hits = 0;
  // Kernels found in the disk cache instead of compiled.
  int64_t disk_cache_hits = 0;
  // The maximum of bytes_live. reset_stats() sets it to bytes_live.
  int64_t bytes_allocated_peak = 0;
  // Bytes of device memory in use now.
  int64_t bytes_live = 0;
  // Results that were computed without ever getting memory.
  int64_t temporaries_elided = 0;
  // The bytes that those would have taken.
  int64_t bytes_elided = 0;
  // By kernels and library calls, each distinct operand once.
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  // Launches that ran interpreted.
  int64_t generic_tier_launches = 0;
  // Calls of sync().
  int64_t syncs = 0;
  // Since memory was short (Config::memory_limit): values that only gradients will ask for, given
  // up between windows, their bytes, and how many values were computed again, within windows too.
  int64_t values_evicted = 0;
  int64_t bytes_evicted = 0;
  int64_t values_recomputed = 0;
};

// The totals of a kernel, or of a kind of library call.
struct KernelStats {
  std::string name;         // of its ops: "mul+exp+sum", "matmul"
  std::string device;       // "cpu", "cuda:0"
  int64_t count = 0;        // runs
  int64_t generic = 0;      // of these, interpreted
  int64_t nanoseconds = 0;  // on the device, over all runs
  int64_t bytes = 0;        // read and written
  int64_t flops = 0;
};

[[nodiscard]] Stats stats();
void reset_stats();

// Since the last reset_stats(), longest total time first. Covers work that ran while a trace was
// recorded (trace::start(), $SLUICE_TRACE); otherwise kernels are not timed. The first 4,096 kinds
// are counted separately, later ones together as "...".
[[nodiscard]] std::vector<KernelStats> kernel_stats();

// One "name: value" per line, in the order above.
[[nodiscard]] std::string to_string(const Stats& stats);

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_STATS_H_
