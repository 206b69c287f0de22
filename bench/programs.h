// Programs in primitives and views that several benchmarks time; hand/fused_loops.h has equivalent
// loops.
#ifndef SLUICE_BENCH_PROGRAMS_H_
#define SLUICE_BENCH_PROGRAMS_H_

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include <sluice/sluice.h>

namespace sluice::bench {

// Interior points: the mean of the four neighbours. The boundary is copied from x.
inline Tensor jacobi_step(const Tensor& x) {
  const int64_t rows = x.shape(0), columns = x.shape(1);
  auto part = [&](int64_t r, int64_t c) {
    return x.slice(0, r, r + rows - 2).slice(1, c, c + columns - 2);
  };
  Tensor inside = 0.25f * (part(0, 1) + part(2, 1) + part(1, 0) + part(1, 2));
  const Tensor middle = x.slice(0, 1, rows - 1);
  return concat(
      {x.slice(0, 0, 1),
       concat({middle.slice(1, 0, 1), std::move(inside), middle.slice(1, columns - 1, columns)}, 1),
       x.slice(0, rows - 1, rows)});
}

// The prices of European calls and puts (Black and Scholes, 1973).
inline constexpr float kRate = 0.02f;
inline constexpr float kVolatility = 0.3f;

inline std::vector<Tensor> black_scholes(const Tensor& spot, const Tensor& strike,
                                         const Tensor& years) {
  auto normal_cdf = [](Tensor d) {
    return 0.5f + 0.5f * erf(std::move(d) * (1 / std::numbers::sqrt2_v<float>));
  };
  const Tensor spread = kVolatility * sqrt(years);
  const Tensor drift = (kRate + 0.5f * kVolatility * kVolatility) * years;
  const Tensor d = (log(spot / strike) + drift) / spread;
  const Tensor exercised = normal_cdf(d - spread);
  const Tensor delta = normal_cdf(d);
  const Tensor discounted = strike * exp(-kRate * years);
  return {spot * delta - discounted * exercised,
          discounted * (1.0f - exercised) - spot * (1.0f - delta)};
}

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_PROGRAMS_H_
