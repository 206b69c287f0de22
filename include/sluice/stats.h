// Counters of what the engine did.
#ifndef SLUICE_STATS_H_
#define SLUICE_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

// Process-wide sums since the start or the last reset_stats().
struct Stats {
  int64_t ops_recorded = 0;      // ops appended to a queue; scalar operands are not ops
  int64_t ops_executed = 0;      // ops whose result was needed, fused or not
  int64_t windows = 0;           // flushes that had something to run
  int64_t kernels_launched = 0;  // own kernels, without library calls
  int64_t library_calls = 0;
  int64_t compiles = 0;  // completed ones
  int64_t compile_failures = 0;
  int64_t plan_hits = 0;
  int64_t plan_misses = 0;
  int64_t kernel_cache_hits = 0;     // kernels of new plans that had been made before
  int64_t disk_cache_hits = 0;       // kernels that another process had compiled
  int64_t bytes_allocated_peak = 0;  // greatest bytes_live; reset_stats() sets it to bytes_live
  int64_t bytes_live = 0;            // bytes of device memory in use now
  int64_t temporaries_elided = 0;    // results that were computed and never had memory
  int64_t bytes_elided = 0;          // the bytes they would have taken
  int64_t bytes_read = 0;            // by kernels and library calls, each distinct operand once
  int64_t bytes_written = 0;
  int64_t generic_tier_launches = 0;  // launches that ran interpreted
  int64_t syncs = 0;                  // calls of sync()
};

// What a kernel, or a kind of library call, has done.
struct KernelStats {
  std::string name;         // of its ops: "mul+exp+sum", "matmul"
  std::string device;       // "cpu", "cuda:0"
  int64_t count = 0;        // runs
  int64_t generic = 0;      // of these, on the generic tier
  int64_t nanoseconds = 0;  // on the device, all runs together
  int64_t bytes = 0;        // read and written
  int64_t flops = 0;
};

Stats stats();
void reset_stats();

// Kernels run since the last reset_stats(), those that took longest first. Kernels are timed only
// while a trace is recorded (trace::start(), $SLUICE_TRACE). The first 4,096 kinds are counted,
// later ones together as "...".
std::vector<KernelStats> kernel_stats();

// One "name: value" a line, in the order above.
std::string to_string(const Stats& stats);

}  // namespace sluice

#endif  // SLUICE_STATS_H_
