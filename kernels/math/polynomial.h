// Polynomials over a value type.
#ifndef SLUICE_KERNELS_MATH_POLYNOMIAL_H_
#define SLUICE_KERNELS_MATH_POLYNOMIAL_H_

#include <array>
#include <cstddef>

#include "kernels/math/primitives.h"

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {

// c0 x^n + c1 x^(n-1) + ... + cn by Horner's rule, one fma a step: highest power first.
template <typename V, typename... Rest>
SLUICE_MATH_INLINE V polynomial(V x, ScalarOf<V> highest, Rest... rest) {
  V result = constant<V>(highest);
  ((result = fma(result, x, constant<V>(static_cast<ScalarOf<V>>(rest)))), ...);
  return result;
}

// The same by two chains of half the length, of even and of odd powers: a long chain's steps wait
// for each other.
template <typename V, typename... Rest>
SLUICE_MATH_INLINE V long_polynomial(V x, ScalarOf<V> highest, ScalarOf<V> next, Rest... rest) {
  const V square = mul(x, x);
  V first = constant<V>(highest), second = constant<V>(next);
  int count = 0;
  ((count++ % 2 == 0 ? first = fma(first, square, constant<V>(static_cast<ScalarOf<V>>(rest)))
                     : second = fma(second, square, constant<V>(static_cast<ScalarOf<V>>(rest)))),
   ...);
  // The coefficient of x^0 is the last one.
  return sizeof...(rest) % 2 == 0 ? fma(first, x, second) : fma(second, x, first);
}

// The same by Horner's rule, of the coefficients from the `kFirst`-th on.
template <size_t kFirst, typename V, size_t kCount>
SLUICE_MATH_INLINE V polynomial_of(V x, const std::array<V, kCount>& coefficients) {
  V result = coefficients[kFirst];
#pragma GCC unroll 32
  for (size_t i = kFirst + 1; i < kCount; ++i) result = fma(result, x, coefficients[i]);
  return result;
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_POLYNOMIAL_H_
