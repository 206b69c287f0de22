// What the float32 functions of kernels/math are measured against: double precision, and how far
// off they may be.
#ifndef SLUICE_TESTS_SUPPORT_MATH_REFERENCE_H_
#define SLUICE_TESTS_SUPPORT_MATH_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "kernels/math/functions.h"

namespace sluice::testing {

namespace m = kernels::math;

struct UnaryFunction {
  std::string_view name;
  double max_ulp;  // documented in docs/math.md
  void (*run)(const float* in, float* out, int64_t n);
  double (*reference)(double x);
};

inline double reference_mish(double x) {
  if (x > 40) return x;
  const double e = std::exp(x);
  return x * (e * (e + 2)) / (e * (e + 2) + 2);
}

#define SLUICE_UNARY(name, max_ulp, reference)                       \
  {                                                                  \
#name, max_ulp,                                                    \
        [](const float* __restrict in, float* __restrict out, int64_t n) { \
          for (int64_t i = 0; i < n; ++i) out[i] = m::name(in[i]);     \
        },                                                             \
        [](double x) -> double { return reference; } \
  }

inline constexpr UnaryFunction kUnaryFunctions[] = {
    SLUICE_UNARY(exp, 1.1, std::exp(x)),
    SLUICE_UNARY(exp2, 1.0, std::exp2(x)),
    SLUICE_UNARY(expm1, 2.0, std::expm1(x)),
    SLUICE_UNARY(log, 1.0, std::log(x)),
    SLUICE_UNARY(log2, 1.5, std::log2(x)),
    SLUICE_UNARY(log10, 1.1, std::log10(x)),
    SLUICE_UNARY(log1p, 1.6, std::log1p(x)),
    SLUICE_UNARY(rsqrt, 1.5, 1 / std::sqrt(x)),
    SLUICE_UNARY(reciprocal, 0.5, 1 / x),
    SLUICE_UNARY(sin, 1.0, std::sin(x)),
    SLUICE_UNARY(cos, 1.0, std::cos(x)),
    SLUICE_UNARY(tan, 1.0, std::tan(x)),
    SLUICE_UNARY(asin, 1.0, std::asin(x)),
    SLUICE_UNARY(acos, 1.0, std::acos(x)),
    SLUICE_UNARY(atan, 1.0, std::atan(x)),
    SLUICE_UNARY(sinh, 2.0, std::sinh(x)),
    SLUICE_UNARY(cosh, 2.0, std::cosh(x)),
    SLUICE_UNARY(tanh, 3.0, std::tanh(x)),
    SLUICE_UNARY(asinh, 2.0, std::asinh(x)),
    SLUICE_UNARY(acosh, 2.5, std::acosh(x)),
    SLUICE_UNARY(atanh, 2.0, std::atanh(x)),
    SLUICE_UNARY(erf, 2.0, std::erf(x)),
    SLUICE_UNARY(erfc, 4.0, std::erfc(x)),
    SLUICE_UNARY(sigmoid, 2.5, x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x))),
    SLUICE_UNARY(silu, 3.5, std::isinf(x) && x < 0 ? -0.0 : x / (1 + std::exp(-x))),
    SLUICE_UNARY(gelu, 5.5,
                 std::isinf(x) && x < 0 ? -0.0 : 0.5 * x * std::erfc(-x * 0.70710678118654752440)),
    SLUICE_UNARY(softplus, 2.0, std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)))),
    SLUICE_UNARY(mish, 4.0, std::isinf(x) && x < 0 ? -0.0 : reference_mish(x)),
};

#undef SLUICE_UNARY

// The distance of `got` from `expected` in units of the last place of a float32 at `expected`.
// Infinite if one is NaN and not the other, or if a zero or an infinity has the wrong sign.
inline double ulp_error(float got, double expected) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  if (std::isnan(expected) || std::isnan(got)) {
    return std::isnan(expected) && std::isnan(got) ? 0 : kWrong;
  }
  if (std::isinf(expected)) return got == expected ? 0 : kWrong;
  if (expected == 0) return got == 0 && std::signbit(got) == std::signbit(expected) ? 0 : kWrong;
  // Infinity is the number that follows the greatest finite one.
  const double value = std::clamp<double>(got, -0x1p128, 0x1p128);
  const double target = std::clamp(expected, -0x1p128, 0x1p128);
  const int exponent = std::clamp(std::ilogb(target), -126, 127);
  return std::abs(value - target) / std::ldexp(1.0, exponent - 23);
}

}  // namespace sluice::testing

#endif  // SLUICE_TESTS_SUPPORT_MATH_REFERENCE_H_
