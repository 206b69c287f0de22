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

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_POLYNOMIAL_H_
