// The engine's counters, by name.
#ifndef SLUICE_EXAMPLES_DIGITS_COUNTERS_H_
#define SLUICE_EXAMPLES_DIGITS_COUNTERS_H_

#include <sluice/sluice.h>

#include <cstdint>

namespace digits {

struct Counter {
  const char* name;
  int64_t sluice::Stats::*field;
};

// The counters that only grow, so that differences are meaningful.
inline constexpr Counter kCounters[] = {
    {"ops_recorded", &sluice::Stats::ops_recorded},
    {"ops_executed", &sluice::Stats::ops_executed},
    {"windows", &sluice::Stats::windows},
    {"kernels_launched", &sluice::Stats::kernels_launched},
    {"library_calls", &sluice::Stats::library_calls},
    {"compiles", &sluice::Stats::compiles},
    {"compile_failures", &sluice::Stats::compile_failures},
    {"compiled_slower", &sluice::Stats::compiled_slower},
    {"plan_hits", &sluice::Stats::plan_hits},
    {"plan_misses", &sluice::Stats::plan_misses},
    {"kernel_cache_hits", &sluice::Stats::kernel_cache_hits},
    {"temporaries_elided", &sluice::Stats::temporaries_elided},
    {"bytes_elided", &sluice::Stats::bytes_elided},
    {"bytes_read", &sluice::Stats::bytes_read},
    {"bytes_written", &sluice::Stats::bytes_written},
    {"generic_tier_launches", &sluice::Stats::generic_tier_launches},
};

inline sluice::Stats counted_between(const sluice::Stats& before, sluice::Stats after) {
  for (const Counter& counter : kCounters) after.*counter.field -= before.*counter.field;
  return after;
}

}  // namespace digits

#endif  // SLUICE_EXAMPLES_DIGITS_COUNTERS_H_
