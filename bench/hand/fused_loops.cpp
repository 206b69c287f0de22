#include "bench/hand/fused_loops.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace sluice::bench {
namespace {

constexpr int64_t kTile = 64;

// f(c, r, x[r][c]) for the first `rows` and `columns` (at most kTile) of x, by columns.
template <typename F>
void walk_columns(const float* __restrict x, int64_t stride, int64_t rows, int64_t columns, F f) {
  float tile[kTile][kTile + 1];  // padded, so that a column spreads over cache sets
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) tile[r][c] = x[r * stride + c];
  }
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) f(c, r, tile[r][c]);
  }
}

}  // namespace

void hand_layer_norm(const float* __restrict x, const float* __restrict weight,
                     const float* __restrict bias, float* __restrict out, int64_t rows,
                     int64_t columns) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < rows; ++r) {
    const float* __restrict row = x + r * columns;
    float* __restrict target = out + r * columns;
    float sum = 0;
    for (int64_t c = 0; c < columns; ++c) sum += row[c];
    const float mean = sum / columns;
    float squares = 0;
    for (int64_t c = 0; c < columns; ++c) squares += (row[c] - mean) * (row[c] - mean);
    const float factor = 1 / std::sqrt(squares / columns + 1e-5f);
    for (int64_t c = 0; c < columns; ++c) {
      target[c] = (row[c] - mean) * factor * weight[c] + bias[c];
    }
  }
}

void hand_rms_norm(const float* __restrict x, const float* __restrict weight, float* __restrict out,
                   int64_t rows, int64_t columns) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < rows; ++r) {
    const float* __restrict row = x + r * columns;
    float* __restrict target = out + r * columns;
    float squares = 0;
    for (int64_t c = 0; c < columns; ++c) squares += row[c] * row[c];
    const float factor = 1 / std::sqrt(squares / columns + 1e-6f);
    for (int64_t c = 0; c < columns; ++c) target[c] = row[c] * factor * weight[c];
  }
}

void hand_logsumexp(const float* __restrict x, float* __restrict out, int64_t rows,
                    int64_t columns) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < rows; ++r) {
    const float* __restrict row = x + r * columns;
    float greatest = row[0];
    for (int64_t c = 1; c < columns; ++c) greatest = std::max(greatest, row[c]);
    float sum = 0;
    for (int64_t c = 0; c < columns; ++c) sum += std::exp(row[c] - greatest);
    out[r] = greatest + std::log(sum);
  }
}

void hand_softmax_columns(const float* __restrict x, float* __restrict out, int64_t rows,
                          int64_t columns) {
  constexpr int64_t kBlock = 64;
#pragma omp parallel for schedule(static)
  for (int64_t begin = 0; begin < columns; begin += kBlock) {
    const int64_t width = std::min(kBlock, columns - begin);
    float greatest[kBlock];
    std::copy_n(x + begin, width, greatest);
    for (int64_t r = 1; r < rows; ++r) {
      const float* __restrict row = x + r * columns + begin;
      for (int64_t c = 0; c < width; ++c) greatest[c] = std::max(greatest[c], row[c]);
    }
    float sums[kBlock] = {};
    for (int64_t r = 0; r < rows; ++r) {
      const float* __restrict row = x + r * columns + begin;
      float* __restrict target = out + r * columns + begin;
      for (int64_t c = 0; c < width; ++c) {
        target[c] = std::exp(row[c] - greatest[c]);
        sums[c] += target[c];
      }
    }
    for (int64_t c = 0; c < width; ++c) sums[c] = 1 / sums[c];
    for (int64_t r = 0; r < rows; ++r) {
      float* __restrict target = out + r * columns + begin;
      for (int64_t c = 0; c < width; ++c) target[c] *= sums[c];
    }
  }
}

void hand_jacobi(const float* __restrict x, float* __restrict out, int64_t rows, int64_t columns) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < rows; ++r) {
    const float* __restrict row = x + r * columns;
    float* __restrict target = out + r * columns;
    if (r == 0 || r == rows - 1) {
      std::copy_n(row, columns, target);
      continue;
    }
    target[0] = row[0];
    for (int64_t c = 1; c < columns - 1; ++c) {
      target[c] = 0.25f * (row[c - columns] + row[c + columns] + row[c - 1] + row[c + 1]);
    }
    target[columns - 1] = row[columns - 1];
  }
}

void hand_distances(const float* __restrict x, const float* __restrict y, float* __restrict out,
                    int64_t n, int64_t m, int64_t depth) {
  constexpr int64_t kBlock = 64;
#pragma omp parallel for schedule(static)
  for (int64_t begin = 0; begin < m; begin += kBlock) {
    const int64_t width = std::min(kBlock, m - begin);
    std::vector<float> columns(depth * kBlock);  // a block of y, transposed: lanes are j
    for (int64_t j = 0; j < width; ++j) {
      for (int64_t k = 0; k < depth; ++k) columns[k * kBlock + j] = y[(begin + j) * depth + k];
    }
    const float* __restrict block = columns.data();
    for (int64_t i = 0; i < n; ++i) {
      float sums[kBlock] = {};
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t j = 0; j < kBlock; ++j) {
          const float d = x[i * depth + k] - block[k * kBlock + j];
          sums[j] += d * d;
        }
      }
      std::copy_n(sums, width, out + i * m + begin);
    }
  }
}

void hand_transposed_add(const float* __restrict x, const float* __restrict y,
                         float* __restrict out, int64_t rows, int64_t columns) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < rows; r += kTile) {
    for (int64_t c = 0; c < columns; c += kTile) {
      const float* __restrict addend = y + r * columns + c;
      float* __restrict target = out + r * columns + c;
      walk_columns(x + c * rows + r, rows, std::min(kTile, columns - c), std::min(kTile, rows - r),
                   [=](int64_t i, int64_t j, float value) {
                     target[i * columns + j] = value + addend[i * columns + j];
                   });
    }
  }
}

void hand_transpose(const float* __restrict x, float factor, float* __restrict out, int64_t batch,
                    int64_t rows, int64_t columns) {
#pragma omp parallel for schedule(static) collapse(2)
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t c = 0; c < columns; c += kTile) {
      for (int64_t r = 0; r < rows; r += kTile) {
        float* __restrict target = out + (b * columns + c) * rows + r;
        walk_columns(x + (b * rows + r) * columns + c, columns, std::min(kTile, rows - r),
                     std::min(kTile, columns - c), [=](int64_t i, int64_t j, float value) {
                       target[i * rows + j] = factor * value;
                     });
      }
    }
  }
}

void hand_copy(const float* __restrict x, float* __restrict out, int64_t n) {
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < n; ++i) out[i] = x[i];
}

void hand_black_scholes(const float* __restrict spot, const float* __restrict strike,
                        const float* __restrict years, float rate, float volatility,
                        float* __restrict call, float* __restrict put, int64_t n) {
  constexpr float kRootHalf = 1 / std::numbers::sqrt2_v<float>;
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < n; ++i) {
    const float spread = volatility * std::sqrt(years[i]);
    const float drift = (rate + 0.5f * volatility * volatility) * years[i];
    const float d = (std::log(spot[i] / strike[i]) + drift) / spread;
    const float exercised = 0.5f + 0.5f * std::erf((d - spread) * kRootHalf);
    const float delta = 0.5f + 0.5f * std::erf(d * kRootHalf);
    const float discounted = strike[i] * std::exp(-rate * years[i]);
    call[i] = spot[i] * delta - discounted * exercised;
    put[i] = discounted * (1 - exercised) - spot[i] * (1 - delta);
  }
}

}  // namespace sluice::bench
