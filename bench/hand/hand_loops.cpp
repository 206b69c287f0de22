#include "bench/hand/hand_loops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bench/for_elements.h"

#ifdef __AVX__
#include <immintrin.h>
#endif

namespace sluice::bench {
void hand_chain10(const float* __restrict x, const float* __restrict y, float* __restrict out,
                  int64_t n) {
  for_elements(n, [=](int64_t i) {
    float t = x[i];
    for (int k = 0; k < 5; ++k) t = t * y[i] + x[i];
    out[i] = t;
  });
}

void hand_chain10_streaming(const float* __restrict x, const float* __restrict y,
                            float* __restrict out, int64_t n) {
#ifdef __AVX__
#ifdef __AVX512F__
  using Vector = __m512;
#else
  using Vector = __m256;
#endif
  constexpr int64_t kLanes = sizeof(Vector) / sizeof(float);
  if (n % kLanes == 0 && reinterpret_cast<uintptr_t>(out) % sizeof(Vector) == 0) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i += kLanes) {
      Vector a, b;
      std::memcpy(&a, x + i, sizeof(a));
      std::memcpy(&b, y + i, sizeof(b));
      Vector t = a;
      for (int k = 0; k < 5; ++k) t = t * b + a;
#ifdef __AVX512F__
      _mm512_stream_ps(out + i, t);
#else
      _mm256_stream_ps(out + i, t);
#endif
    }
    return;
  }
#endif
  hand_chain10(x, y, out, n);
}

void hand_mish_composed(const float* __restrict x, float* __restrict out, int64_t n) {
  for_elements(n, [=](int64_t i) { out[i] = x[i] * std::tanh(std::log1p(std::exp(x[i]))); });
}

void hand_mish_algebraic(const float* __restrict x, float* __restrict out, int64_t n) {
  for_elements(n, [=](int64_t i) {
    // Beyond 20 the quotient is 1 and e^x might overflow.
    const float e = std::exp(x[i] < 20.0f ? x[i] : 20.0f);
    const float m = e * (e + 2);
    out[i] = x[i] * m / (m + 2);
  });
}

float hand_sum(const float* x, int64_t n) {
  float sum = 0;
#pragma omp parallel for simd if (parallel : n >= kWorthThreads) schedule(static) reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

void hand_row_sums(const float* x, float* out, int64_t rows, int64_t columns) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (int64_t c = 0; c < columns; ++c) sum += x[r * columns + c];
    out[r] = sum;
  }
}

void hand_column_sums(const float* __restrict x, float* __restrict out, int64_t rows,
                      int64_t columns) {
  constexpr int64_t kBlock = 256;
#pragma omp parallel for schedule(static)
  for (int64_t begin = 0; begin < columns; begin += kBlock) {
    const int64_t width = std::min(kBlock, columns - begin);
    float sums[kBlock] = {};
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < width; ++c) sums[c] += x[r * columns + begin + c];
    }
    std::copy_n(sums, width, out + begin);
  }
}

void hand_softmax(const float* __restrict x, float* __restrict out, int64_t rows, int64_t columns) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < rows; ++r) {
    const float* __restrict row = x + r * columns;
    float* __restrict target = out + r * columns;
    float greatest = row[0];
    for (int64_t c = 1; c < columns; ++c) greatest = std::max(greatest, row[c]);
    float sum = 0;
    for (int64_t c = 0; c < columns; ++c) {
      target[c] = std::exp(row[c] - greatest);
      sum += target[c];
    }
    const float factor = 1 / sum;
    for (int64_t c = 0; c < columns; ++c) target[c] *= factor;
  }
}

}  // namespace sluice::bench
