// The loops that kernels are measured against: OpenMP over the threads that sluice uses, vectorised
// by the compiler for this machine, with -ffast-math (so multiplies and adds contract, and sums are
// taken in any order). All arrays hold n floats.
#ifndef SLUICE_BENCH_HAND_HAND_LOOPS_H_
#define SLUICE_BENCH_HAND_HAND_LOOPS_H_

#include <cstdint>

namespace sluice::bench {

// out = (((x * y + x) * y + x) ...): five multiplications and five additions.
void hand_chain10(const float* x, const float* y, float* out, int64_t n);
// The same, past the cache: what is written is not read first.
void hand_chain10_streaming(const float* x, const float* y, float* out, int64_t n);

// x * tanh(log1p(exp(x))) with the compiler's vector math library.
void hand_mish_composed(const float* x, float* out, int64_t n);
// x * m / (m + 2) with m = e^x (e^x + 2): the same function with one exponential.
void hand_mish_algebraic(const float* x, float* out, int64_t n);

float hand_sum(const float* x, int64_t n);
void hand_row_sums(const float* x, float* out, int64_t rows, int64_t columns);
void hand_column_sums(const float* x, float* out, int64_t rows, int64_t columns);
// Softmax of each row: three walks over a row that stays in the cache.
void hand_softmax(const float* x, float* out, int64_t rows, int64_t columns);

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_HAND_HAND_LOOPS_H_
