// Division, and division that rounds down.
//
// Vector units divide floats only. An integer quotient is the floor of a float one: that of
// integers of up to 16 bits in float32 and of 32 bits in float64 is right at once, of 64 bits it
// leaves a remainder, which is divided again.
#ifndef SLUICE_KERNELS_MATH_DIVISION_H_
#define SLUICE_KERNELS_MATH_DIVISION_H_

#include "kernels/math/basic.h"
#include "kernels/math/external.h"
#include "kernels/math/primitives.h"

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {

template <typename V>
SLUICE_MATH_INLINE V div(V a, V b) {
  return raw_div(a, b);
}
template <typename V>
SLUICE_MATH_INLINE V reciprocal(V a) {
  return raw_div(constant<V>(1), a);
}
template <typename V>
SLUICE_MATH_INLINE V rsqrt(V a) {
  return raw_div(constant<V>(1), sqrt(a));
}

namespace internal {

// Of integers; both are 0 for division by 0.
template <typename V>
struct Quotient {
  V quotient;
  V remainder;
};

// Divisors that truncated division is not defined for are replaced by 1, with which the quotient
// is `a` and the remainder 0; the caller puts the quotient right.
template <typename V>
SLUICE_MATH_INLINE V safe_divisor(V b) {
  MaskOf<V> unsafe = eq(b, constant<V>(0));
  if constexpr (kIsSigned<V>) unsafe = mask_or(unsafe, eq(b, constant<V>(-1)));
  return select(unsafe, constant<V>(1), b);
}

// True where the remainder is not zero and has the other sign than the divisor.
template <typename V>
SLUICE_MATH_INLINE MaskOf<V> signs_differ(V remainder, V divisor) {
  const V zero = constant<V>(0);
  return mask_and(ne(remainder, zero), lt(bit_xor(remainder, divisor), zero));
}

// By the machine's own division.
template <typename V>
SLUICE_MATH_INLINE Quotient<V> divide_by_instruction(V a, V b) {
  const V zero = constant<V>(0);
  const V divisor = safe_divisor(b);
  V quotient = raw_div(a, divisor);
  V remainder = sub(a, mul(quotient, divisor));
  if constexpr (kIsSigned<V>) {
    const MaskOf<V> down = signs_differ(remainder, divisor);
    quotient = select(down, sub(quotient, constant<V>(1)), quotient);
    remainder = select(down, add(remainder, divisor), remainder);
    quotient = select(eq(b, constant<V>(-1)), neg(a), quotient);
  }
  return {select(eq(b, zero), zero, quotient), remainder};
}

// Up to 32 bits. The quotient of floats is off by less than half of 1 / |b|, which is added: what
// is no less than an integer then stays so, and what is less was less by 1 / |b|.
template <typename V>
SLUICE_MATH_INLINE Quotient<V> divide_once(V a, V b) {
  using F = Rebind<V, std::conditional_t<kWidth<V> == 32, double, float>>;
  const V divisor = safe_divisor(b);
  const F inverse = raw_div(constant<F>(1), raw_convert<F>(divisor));
  const F half = mul(constant<F>(0.5), raw_abs(inverse));
  V quotient = raw_convert<V>(raw_floor(fma(raw_convert<F>(a), inverse, half)));
  const V remainder = sub(a, mul(quotient, divisor));
  // Those that safe_divisor replaced: 0 and -1.
  quotient = select(eq(divisor, b), quotient, mul(a, b));
  return {quotient, remainder};
}

// 64 bits, unsigned; b is at least 2. Every quotient is a little less than it should be.
template <typename V>
SLUICE_MATH_INLINE Quotient<V> divide_twice(V a, V b) {
  using F = Rebind<V, double>;
  const F inverse = raw_div(constant<F>(1 - 0x1p-50), raw_convert<F>(b));
  const V first = raw_convert<V>(mul(raw_convert<F>(a), inverse));
  const V rest = sub(a, mul(first, b));
  const V second = raw_convert<V>(mul(raw_convert<F>(rest), inverse));
  const V last = sub(rest, mul(second, b));
  const MaskOf<V> one_more = le(b, last);
  const V quotient = add(first, second);
  return {select(one_more, add(quotient, constant<V>(1)), quotient),
          select(one_more, sub(last, b), last)};
}

template <typename V>
SLUICE_MATH_INLINE Quotient<V> divide_wide(V a, V b) {
  using U = UIntOf<V>;
  const U magnitude = bits_as<U>(abs(b));
  const MaskOf<V> is_unit = lt(magnitude, constant<U>(2));
  const U divisor = select(is_unit, constant<U>(2), magnitude);
  const Quotient<U> unsigned_result = divide_twice(bits_as<U>(abs(a)), divisor);
  V quotient = bits_as<V>(unsigned_result.quotient);
  V remainder = bits_as<V>(unsigned_result.remainder);
  const V zero = constant<V>(0);
  if constexpr (kIsSigned<V>) {
    const MaskOf<V> opposite = lt(bit_xor(a, b), zero);
    remainder = select(lt(a, zero), neg(remainder), remainder);
    const MaskOf<V> down = mask_and(opposite, ne(remainder, zero));
    quotient = select(opposite, neg(quotient), quotient);
    quotient = select(down, sub(quotient, constant<V>(1)), quotient);
    remainder = select(down, add(remainder, b), remainder);
  }
  return {select(is_unit, mul(a, b), quotient), select(is_unit, zero, remainder)};
}

template <typename V>
SLUICE_MATH_INLINE Quotient<V> integer_division(V a, V b) {
  if constexpr (kDividesIntegers<V>)
    return divide_by_instruction(a, b);
  else if constexpr (kWidth<V> <= 32)
    return divide_once(a, b);
  else
    return divide_wide(a, b);
}

// Floats: the quotient rounded toward minus infinity, and what it leaves. While the quotient is
// small it is at most one too great, by its own rounding, and the fma is exact.
template <typename V>
struct FloorDivision {
  V quotient;
  V remainder;
};
template <typename V>
SLUICE_MATH_INLINE FloorDivision<V> floor_division(V a, V b) {
  using I = IntOf<V>;
  const V zero = constant<V>(0);
  const V ratio = raw_div(a, b);
  const V quotient = raw_floor(ratio);
  const V rest = fma(neg(quotient), b, a);
  const MaskOf<V> other_sign = lt(bit_xor(bits_as<I>(rest), bits_as<I>(b)), constant<I>(0));
  const MaskOf<V> overshot = mask_and(ne(rest, zero), other_sign);
  const V exact = select(overshot, sub(quotient, constant<V>(1)), quotient);
  const V remainder = select(overshot, add(rest, b), rest);
  return {select(eq(exact, zero), copysign(zero, ratio), exact),
          select(eq(remainder, zero), copysign(zero, b), remainder)};
}

// What the functions of a quotient share. Where it is great, floor_division is not exact; b == 0
// gives an infinite one or NaN.
template <External kOfF32, External kOfF64>
struct OfQuotient {
  static constexpr External kF32 = kOfF32, kF64 = kOfF64;
  template <typename V>
  SLUICE_MATH_INLINE static MaskOf<V> is_rare(V a, V b) {
    const V limit = constant<V>(kIsF32<V> ? 0x1p22 : 0x1p51);
    const MaskOf<V> is_great = le(limit, raw_abs(raw_div(a, b)));
    return mask_or(is_great, eq(raw_abs(b), infinity<V>()));
  }
};

}  // namespace internal

template <>
struct Guarded<fusion::Op::kFloorDivide>
    : internal::OfQuotient<External::kFloorDivideF32, External::kFloorDivideF64> {
  template <typename V>
  SLUICE_MATH_INLINE static V usual(V a, V b) {
    return internal::floor_division(a, b).quotient;
  }
};
template <>
struct Guarded<fusion::Op::kRemainder>
    : internal::OfQuotient<External::kRemainderF32, External::kRemainderF64> {
  template <typename V>
  SLUICE_MATH_INLINE static V usual(V a, V b) {
    return internal::floor_division(a, b).remainder;
  }
};

// Rounded toward minus infinity. Integers: x / 0 is 0, lowest / -1 wraps. Floats: as in Python,
// with x / 0 as in IEEE 754.
template <typename V>
SLUICE_MATH_INLINE V floor_divide(V a, V b) {
  if constexpr (kIsFloat<V>)
    return internal::guarded<fusion::Op::kFloorDivide>(a, b);
  else
    return internal::integer_division(a, b).quotient;
}

// a - floor_divide(a, b) * b, exactly: it has the divisor's sign. Integers: x % 0 is 0.
template <typename V>
SLUICE_MATH_INLINE V remainder(V a, V b) {
  if constexpr (kIsFloat<V>)
    return internal::guarded<fusion::Op::kRemainder>(a, b);
  else
    return internal::integer_division(a, b).remainder;
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_DIVISION_H_
