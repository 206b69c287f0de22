// The element loop of the hand-written kernels.
#ifndef SLUICE_BENCH_FOR_ELEMENTS_H_
#define SLUICE_BENCH_FOR_ELEMENTS_H_

#include <cstdint>

namespace sluice::bench {

// Below this, starting threads costs more than it saves.
inline constexpr int64_t kWorthThreads = 32768;

// Calls f(i) for each i < n, in any order, on all threads if that pays. Short loops avoid `omp
// parallel if`: even a region of one thread costs as much as the arithmetic of some thousand
// elements.
template <typename F>
inline void for_elements(int64_t n, F f) {
  if (n < kWorthThreads) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) f(i);
    return;
  }
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < n; ++i) f(i);
}

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_FOR_ELEMENTS_H_
