// Shared by the benchmarks. A benchmark is named "workload/who/size"; bench/run compares those of
// one workload and size.
#ifndef SLUICE_BENCH_SUPPORT_H_
#define SLUICE_BENCH_SUPPORT_H_

#include <cstdint>
#include <new>
#include <random>
#include <vector>

#include <sluice/sluice.h>
#include "benchmark/benchmark.h"

namespace sluice::bench {

enum class Tier { kCompiled, kInterpreted };

inline const char* name_of(Tier tier) { return tier == Tier::kCompiled ? "sluice" : "interpreted"; }

// Fixes the tier of all kernels during its lifetime.
class UseTier {
 public:
  explicit UseTier(Tier tier) : before_(config().compile) {
    config().compile = tier == Tier::kCompiled ? CompileMode::kBlocking : CompileMode::kOff;
  }
  ~UseTier() { config().compile = before_; }
  UseTier(const UseTier&) = delete;
  UseTier& operator=(const UseTier&) = delete;

 private:
  const CompileMode before_;
};

// Aligned like Sluice's memory.
template <typename T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{256};
  T* allocate(size_t n) { return static_cast<T*>(operator new(n * sizeof(T), kAlignment)); }
  void deallocate(T* p, size_t) { operator delete(p, kAlignment); }
  bool operator==(const AlignedAllocator&) const { return true; }
};
using Floats = std::vector<float, AlignedAllocator<float>>;

// n floats of a standard normal distribution, the same at every call.
inline Floats random_floats(int64_t n, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Floats values(n);
  for (float& value : values) value = normal(generator);
  return values;
}

// Reports `bytes` moved per iteration as GB/s.
inline void report_bytes(benchmark::State& state, double bytes) {
  state.counters["GB/s"] =
      benchmark::Counter(bytes * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

// Reports the time per op of an iteration of `ops` ops, in seconds (Google Benchmark adds the
// prefix).
inline void report_per_op(benchmark::State& state, double ops) {
  state.counters["per_op"] = benchmark::Counter(
      ops, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// Times f(), which returns a tensor, until its result is in memory.
template <typename F>
void time_result(benchmark::State& state, Tier tier, F f) {
  const UseTier use(tier);
  {
    const Tensor warm = f();
    sync();
  }
  for (auto _ : state) {
    const Tensor result = f();
    sync();
  }
}

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_SUPPORT_H_
