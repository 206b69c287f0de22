// Hand-written loops to compare kernels with: OpenMP with as many threads as Sluice, vectorised by
// the compiler for this machine, with -ffast-math (contraction, sums in any order). Arrays hold n
// floats.
#ifndef SLUICE_BENCH_HAND_HAND_LOOPS_H_
#define SLUICE_BENCH_HAND_HAND_LOOPS_H_

#include <cstdint>

namespace sluice::bench {

// out = (((x * y + x) * y + x) ...): five multiplications and five additions.
void hand_chain10(const float* x, const float* y, float* out, int64_t n);
// The same with non-temporal stores, which do not read the lines that they write.
void hand_chain10_streaming(const float* x, const float* y, float* out, int64_t n);

// x * tanh(log1p(exp(x))) with the compiler's vector math library.
void hand_mish_composed(const float* x, float* out, int64_t n);
// x * m / (m + 2) with m = e^x (e^x + 2): the same function with one exponential.
void hand_mish_algebraic(const float* x, float* out, int64_t n);

float hand_sum(const float* x, int64_t n);
void hand_row_sums(const float* x, float* out, int64_t rows, int64_t columns);
void hand_column_sums(const float* x, float* out, int64_t rows, int64_t columns);
// Softmax of each row, in three passes over a row in cache.
void hand_softmax(const float* x, float* out, int64_t rows, int64_t columns);

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_HAND_HAND_LOOPS_H_
