// The loop over elements that hand-written kernels are made of.
#ifndef SLUICE_BENCH_FOR_ELEMENTS_H_
#define SLUICE_BENCH_FOR_ELEMENTS_H_

#include <cstdint>

namespace sluice::bench {

// Below this, starting the threads costs more than they save.
inline constexpr int64_t kWorthThreads = 32768;

// f(i) for each i < n, in any order; where it pays, on all threads. A parallel region of a single
// thread (`omp parallel if`) takes as long as the arithmetic of some thousand elements: few are not
// given one.
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
