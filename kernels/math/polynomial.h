// Polynomials over a value type.
#ifndef SLUICE_KERNELS_MATH_POLYNOMIAL_H_
#define SLUICE_KERNELS_MATH_POLYNOMIAL_H_

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

// The same by Horner's rule, of the piece `index` modulo 16: rows of coefficients, one for each
// piece.
template <typename V, typename S, size_t kCount>
SLUICE_MATH_INLINE V polynomial_of_piece(V x, const Sixteen<S> (&coefficients)[kCount],
                                         IntOf<V> index) {
  V result = lookup<V>(coefficients[0], index);
#pragma GCC unroll 32
  for (size_t i = 1; i < kCount; ++i) result = fma(result, x, lookup<V>(coefficients[i], index));
  return result;
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_POLYNOMIAL_H_
