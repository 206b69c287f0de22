// Division, and division that rounds down.
//
// Vector units divide floats only. An integer quotient is the floor of a float one: that of
// integers of up to 16 bits in float32 and of 32 bits in float64 is right at once, and so is that
// of 64 bits where these are small, as they mostly are; else it leaves a remainder, which is
// divided again.
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

// Integers of 64 bits in [-2^50, 2^50), or [0, 2^51): float64 has them, and their remainders.
inline constexpr int kSmallBits = 51;

// Whether `a`, of 64 bits, is among the 2^bits integers around 0, or from 0 on.
template <int kBits, typename V>
SLUICE_MATH_INLINE MaskOf<V> has_bits(V a) {
  if constexpr (kIsSigned<V>) a = add(a, constant<V>(ScalarOf<V>(1) << (kBits - 1)));
  return eq(bit_and(a, constant<V>(static_cast<ScalarOf<V>>(~uint64_t{0} << kBits))),
            constant<V>(0));
}

// Small integers become floats and back by their bits, which any processor does: those of kShift
// and up to 2^51 more are kShift plus so much.
inline constexpr double kShift = 0x1.8p52;
template <typename V>
SLUICE_MATH_INLINE Rebind<V, double> small_to_float(V a) {
  using F = Rebind<V, double>;
  return sub(bits_as<F>(add(a, bits_as<V>(constant<F>(kShift)))), constant<F>(kShift));
}
template <typename V>
SLUICE_MATH_INLINE V to_small(Rebind<V, double> a) {
  using F = Rebind<V, double>;
  return sub(bits_as<V>(add(a, constant<F>(kShift))), bits_as<V>(constant<F>(kShift)));
}

// As divide_once(), by a small divisor. What depends on that only is computed ahead of the branches
// to its uses.
template <typename V>
struct SmallDivisor {
  using F = Rebind<V, double>;
  SLUICE_MATH_INLINE explicit SmallDivisor(V b)
      : is_zero(eq(b, constant<V>(0))),
        divisor(small_to_float(select(is_zero, constant<V>(1), b))),
        inverse(raw_div(constant<F>(1), divisor)),
        half(mul(constant<F>(0.5), raw_abs(inverse))) {}

  // Of a small dividend.
  SLUICE_MATH_INLINE Quotient<F> divide(F a) const {
    const F quotient = raw_floor(fma(a, inverse, half));
    return {quotient, fma(neg(quotient), divisor, a)};
  }
  SLUICE_MATH_INLINE Quotient<V> divide_small(V a) const {
    const Quotient<F> result = divide(small_to_float(a));
    return {select(is_zero, constant<V>(0), to_small<V>(result.quotient)),
            to_small<V>(result.remainder)};
  }
  // Of any, in two digits of 32 bits: the divisor has so few that what the first leaves is small.
  static constexpr int kFewBits = kSmallBits - 32;
  SLUICE_MATH_INLINE Quotient<V> divide_digits(V a) const {
    const V width = constant<V>(32);
    const Quotient<F> first = divide(small_to_float(shr(a, width)));
    const F low = small_to_float(bit_and(a, constant<V>(0xffffffff)));
    const Quotient<F> second = divide(fma(first.remainder, constant<F>(0x1p32), low));
    const V quotient = add(shl(to_small<V>(first.quotient), width), to_small<V>(second.quotient));
    return {select(is_zero, constant<V>(0), quotient), to_small<V>(second.remainder)};
  }

  MaskOf<V> is_zero;
  F divisor, inverse, half;
};

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
inline constexpr bool kDividesTwice = kWidth<V> == 64 && !kDividesIntegers<V>;

// `part` of the quotient and remainder of 64 bits, by the shortest form that serves all lanes.
template <typename V>
SLUICE_MATH_INLINE V divide_shortest(V a, V b, V Quotient<V>::*part) {
  using By = SmallDivisor<V>;
  const By by(b);
  return if_all(
      mask_and(has_bits<kSmallBits>(a), has_bits<kSmallBits>(b)),
      [&]() SLUICE_MATH_LAMBDA { return by.divide_small(a).*part; },
      [&]() SLUICE_MATH_LAMBDA {
        return if_all(
            has_bits<By::kFewBits>(b),
            [&]() SLUICE_MATH_LAMBDA { return by.divide_digits(a).*part; },
            [&]() SLUICE_MATH_LAMBDA { return divide_wide(a, b).*part; });
      });
}

template <typename V>
SLUICE_MATH_INLINE Quotient<V> integer_division(V a, V b) {
  if constexpr (kDividesIntegers<V>)
    return divide_by_instruction(a, b);
  else if constexpr (kDividesTwice<V>)
    return divide_wide(a, b);
  else
    return divide_once(a, b);
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
  if constexpr (kIsFloat<V>) {
    return internal::guarded<fusion::Op::kFloorDivide>(a, b);
  } else if constexpr (internal::kDividesTwice<V>) {
    return internal::divide_shortest(a, b, &internal::Quotient<V>::quotient);
  } else {
    return internal::integer_division(a, b).quotient;
  }
}

// a - floor_divide(a, b) * b, exactly: it has the divisor's sign. Integers: x % 0 is 0.
template <typename V>
SLUICE_MATH_INLINE V remainder(V a, V b) {
  if constexpr (kIsFloat<V>) {
    return internal::guarded<fusion::Op::kRemainder>(a, b);
  } else if constexpr (internal::kDividesTwice<V>) {
    return internal::divide_shortest(a, b, &internal::Quotient<V>::remainder);
  } else {
    return internal::integer_division(a, b).remainder;
  }
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_DIVISION_H_
