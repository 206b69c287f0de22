// Hand-written equivalents of the fused programs, one loop each, built like hand_loops.h. Arrays
// are dense and row-major.
#ifndef SLUICE_BENCH_HAND_FUSED_LOOPS_H_
#define SLUICE_BENCH_HAND_FUSED_LOOPS_H_

#include <cstdint>

namespace sluice::bench {

// (x - mean) / sqrt(var + 1e-5) * weight + bias of each row, in three passes over a row in cache.
void hand_layer_norm(const float* x, const float* weight, const float* bias, float* out,
                     int64_t rows, int64_t columns);
// x / sqrt(mean(x^2) + 1e-6) * weight of each row, in two passes.
void hand_rms_norm(const float* x, const float* weight, float* out, int64_t rows, int64_t columns);
// log(sum(exp(x))) of each row, shifted by its maximum, in two passes.
void hand_logsumexp(const float* x, float* out, int64_t rows, int64_t columns);
// Softmax of each column, a block of columns at a time.
void hand_softmax_columns(const float* x, float* out, int64_t rows, int64_t columns);

// Interior points: the mean of the four neighbours. The boundary is copied from x.
void hand_jacobi(const float* x, float* out, int64_t rows, int64_t columns);

// out[i][j] = sum((x[i] - y[j])^2) of x: (n, depth) and y: (m, depth).
void hand_distances(const float* x, const float* y, float* out, int64_t n, int64_t m,
                    int64_t depth);

// out[r][c] = x[c][r] + y[r][c], tile by tile.
void hand_transposed_add(const float* x, const float* y, float* out, int64_t rows, int64_t columns);
// out[b][c][r] = factor * x[b][r][c], tile by tile.
void hand_transpose(const float* x, float factor, float* out, int64_t batch, int64_t rows,
                    int64_t columns);
void hand_copy(const float* x, float* out, int64_t n);

// The prices of n European options.
void hand_black_scholes(const float* spot, const float* strike, const float* years, float rate,
                        float volatility, float* call, float* put, int64_t n);

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_HAND_FUSED_LOOPS_H_
