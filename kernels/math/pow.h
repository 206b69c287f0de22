// Powers.
#ifndef SLUICE_KERNELS_MATH_POW_H_
#define SLUICE_KERNELS_MATH_POW_H_

#include "kernels/math/basic.h"
#include "kernels/math/external.h"
#include "kernels/math/primitives.h"

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {
namespace internal {

// Square and multiply over every bit of the exponent; wraps. Negative exponents give 0.
template <typename V>
SLUICE_MATH_INLINE V integer_pow(V base, V exponent) {
  const V zero = constant<V>(0);
  const V one = constant<V>(1);
  V result = one;
  V square = base;
  for (int bit = 0; bit < kWidth<V> - (kIsSigned<V> ? 1 : 0); ++bit) {
    const V set = bit_and(shr(exponent, constant<V>(bit)), one);
    result = select(ne(set, zero), mul(result, square), result);
    square = mul(square, square);
  }
  if constexpr (kIsSigned<V>) {
    result = select(lt(exponent, zero), zero, result);
  }
  return result;
}

}  // namespace internal

template <typename V>
SLUICE_MATH_INLINE V pow(V base, V exponent) {
  if constexpr (kIsInteger<V>)
    return internal::integer_pow(base, exponent);
  else
    return internal::call_external_as(External::kPowF32, External::kPowF64, base, exponent);
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_POW_H_
