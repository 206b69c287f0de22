#include <sluice/stats.h>

#include <mutex>

#include "absl/strings/str_cat.h"
#include "engine/observe/counters.h"
#include "engine/observe/recorder.h"
#include "engine/record/queue.h"
#include "kernels/executor.h"
#include "runtime/backend.h"

namespace sluice {
namespace {

struct Field {
  const char* name;
  int64_t Stats::*member;
};

constexpr Field kFields[] = {
    {"ops_recorded", &Stats::ops_recorded},
    {"ops_executed", &Stats::ops_executed},
    {"windows", &Stats::windows},
    {"kernels_launched", &Stats::kernels_launched},
    {"library_calls", &Stats::library_calls},
    {"compiles", &Stats::compiles},
    {"compile_failures", &Stats::compile_failures},
    {"compiled_slower", &Stats::compiled_slower},
    {"plan_hits", &Stats::plan_hits},
    {"plan_misses", &Stats::plan_misses},
    {"kernel_cache_hits", &Stats::kernel_cache_hits},
    {"disk_cache_hits", &Stats::disk_cache_hits},
    {"bytes_allocated_peak", &Stats::bytes_allocated_peak},
    {"bytes_live", &Stats::bytes_live},
    {"temporaries_elided", &Stats::temporaries_elided},
    {"bytes_elided", &Stats::bytes_elided},
    {"bytes_read", &Stats::bytes_read},
    {"bytes_written", &Stats::bytes_written},
    {"generic_tier_launches", &Stats::generic_tier_launches},
    {"syncs", &Stats::syncs},
    {"values_evicted", &Stats::values_evicted},
    {"bytes_evicted", &Stats::bytes_evicted},
    {"values_recomputed", &Stats::values_recomputed},
};

// Counts since the start of the process; the public ones are relative to the last reset.
Stats total() {
  const engine::Counters& c = engine::counters();
  const kernels::CacheStats cache = kernels::total_cache_stats();
  Stats s;
  for (engine::Queue* queue : engine::Queue::all()) s.ops_recorded += queue->ops_recorded();
  s.ops_executed = c.ops_executed;
  s.windows = c.windows;
  s.kernels_launched = c.kernels_launched;
  s.library_calls = c.library_calls;
  s.compiles = cache.compiles;
  s.compile_failures = cache.compile_failures;
  s.compiled_slower = cache.slower;
  s.plan_hits = c.plan_hits;
  s.plan_misses = c.plan_misses;
  s.kernel_cache_hits = cache.hits;
  s.disk_cache_hits = cache.disk_hits;
  s.temporaries_elided = c.temporaries_elided;
  s.bytes_elided = c.bytes_elided;
  s.bytes_read = c.bytes_read;
  s.bytes_written = c.bytes_written;
  s.generic_tier_launches = c.generic_tier_launches;
  s.syncs = c.syncs;
  s.values_evicted = c.values_evicted;
  s.bytes_evicted = c.bytes_evicted;
  s.values_recomputed = c.values_recomputed;
  return s;
}

std::mutex mutex;
Stats base;  // guarded by `mutex`

}  // namespace

namespace engine {

Counters& counters() {
  static Counters* counters = new Counters;
  return *counters;
}

RecorderCounters& recorder_counters() {
  static RecorderCounters* counters = new RecorderCounters;
  return *counters;
}

}  // namespace engine

Stats stats() {
  Stats s = total();
  {
    std::lock_guard lock(mutex);
    for (const Field& field : kFields) s.*field.member -= base.*field.member;
  }
  runtime::for_each_backend([&](runtime::Backend& backend) {
    const runtime::MemoryStats memory = backend.memory_stats();
    s.bytes_live += memory.live;
    s.bytes_allocated_peak += memory.peak;
  });
  return s;
}

std::vector<KernelStats> kernel_stats() { return engine::Recorder::get().kernel_stats(); }

void reset_stats() {
  engine::Recorder::get().reset_kernel_stats();
  std::lock_guard lock(mutex);
  base = total();
  runtime::for_each_backend([](runtime::Backend& backend) { backend.reset_peak(); });
}

std::string to_string(const Stats& stats) {
  std::string text;
  for (const Field& field : kFields) {
    absl::StrAppend(&text, field.name, ": ", stats.*field.member, "\n");
  }
  return text;
}

}  // namespace sluice
