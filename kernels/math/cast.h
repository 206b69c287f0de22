// Conversion between value types, and rounding to the half-precision types.
#ifndef SLUICE_KERNELS_MATH_CAST_H_
#define SLUICE_KERNELS_MATH_CAST_H_

#include <limits>

#include "kernels/math/basic.h"
#include "kernels/math/primitives.h"

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {
namespace internal {

// Truncates; out of range saturates, NaN gives 0.
template <typename To, typename From>
SLUICE_MATH_INLINE To float_to_int(From a) {
  using Limits = std::numeric_limits<ScalarOf<To>>;
  using F = ScalarOf<From>;
  // Both bounds are 0 or powers of two, so they are exact.
  const From low = constant<From>(static_cast<F>(Limits::min()));
  if constexpr (Limits::digits <= std::numeric_limits<F>::digits) {
    const From high = constant<From>(static_cast<F>(Limits::max()));
    const From raised = select(lt(a, low), low, a);
    const From bounded = select(lt(high, raised), high, raised);
    return raw_convert<To>(select(eq(a, a), bounded, constant<From>(0)));
  }
  const From end = constant<From>(F(2) * static_cast<F>(Limits::max() / 2 + 1));
  const From raised = select(lt(a, low), low, a);
  const To exact = raw_convert<To>(select(lt(a, end), raised, constant<From>(0)));
  return select(le(end, a), constant<To>(Limits::max()), exact);
}

}  // namespace internal

// C++ conversion made total: float to integer truncates, saturates, and takes NaN to 0; to bool is
// "!= 0"; integers wrap.
template <typename To, typename From>
SLUICE_MATH_INLINE To cast(From a) {
  if constexpr (std::is_same_v<ScalarOf<To>, ScalarOf<From>>)
    return a;
  else if constexpr (kIsBool<To>)
    return ne(a, constant<From>(0));
  else if constexpr (kIsBool<From>)
    return select(a, constant<To>(1), constant<To>(0));
  else if constexpr (kIsFloat<From> && kIsInteger<To>)
    return internal::float_to_int<To>(a);
  else
    return raw_convert<To>(a);
}

// Every NaN becomes the positive quiet NaN with no payload.
template <typename V>
SLUICE_MATH_INLINE V canonical_nan(V a) {
  return select(ne(a, a), quiet_nan<V>(), a);
}

// A float32 value rounded to binary16, ties to even; overflow gives infinity.
template <typename V>
SLUICE_MATH_INLINE V round_to_float16(V a) {
  using I = IntOf<V>;
  const V magnitude = raw_abs(a);
  // The last place of the result is 2^-10 of the power of two below `magnitude`, but at least
  // 2^-24. Adding 2^23 last places makes the addition round there.
  const I exponent = bit_and(bits_as<I>(magnitude), constant<I>(0x7f800000));
  const I lowest_exponent = constant<I>(0x38800000);
  const I clamped = select(lt(exponent, lowest_exponent), lowest_exponent, exponent);
  const V shift = bits_as<V>(add(clamped, constant<I>(13 << 23)));
  const V rounded = sub(add(magnitude, shift), shift);
  const V overflowed = select(lt(magnitude, constant<V>(65520.0f)), rounded, infinity<V>());
  return select(ne(a, a), quiet_nan<V>(), copysign(overflowed, a));
}

// A float32 value rounded to bfloat16, ties to even; overflow gives infinity.
template <typename V>
SLUICE_MATH_INLINE V round_to_bfloat16(V a) {
  using U = UIntOf<V>;
  const U bits = bits_as<U>(a);
  const U odd = bit_and(shr(bits, constant<U>(16)), constant<U>(1));
  const U rounded = bit_and(add(add(bits, constant<U>(0x7fff)), odd), constant<U>(0xffff0000u));
  return select(ne(a, a), quiet_nan<V>(), bits_as<V>(rounded));
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_CAST_H_
