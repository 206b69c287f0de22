// Forms of unary functions for float16, at about half the cost of those for float32. The operand is
// a float16 number in a float32, and the result is rounded to float16 afterwards, so 20 good bits
// serve, nothing is great or small for a float32, and angles are at most 65,504.
//
// Both tiers of the CPU take them. On a GPU these functions are CUDA's own.
#ifndef SLUICE_KERNELS_MATH_FLOAT16_H_
#define SLUICE_KERNELS_MATH_FLOAT16_H_

#include "kernels/math/basic.h"
#include "kernels/math/exp_log.h"
#include "kernels/math/polynomial.h"
#include "kernels/math/primitives.h"
#include "kernels/math/trig.h"

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {
namespace internal {

// p 2^n, of which both are ordinary float32 numbers. (Those of a NaN are that NaN.)
template <typename V>
SLUICE_MATH_INLINE V scale_ordinary(V p, const RoundedInteger<V>& n) {
  using I = IntOf<V>;
  return bits_as<V>(add(bits_as<I>(p), shl(n.bits, constant<I>(FormatOf<V>::kMantissaBits))));
}

// pi or pi / 2 in two parts.
struct AnglePeriod {
  float high;
  float low;
};
inline constexpr AnglePeriod kPi = {3.14159274f, -8.74227766e-08f};
inline constexpr AnglePeriod kHalfPi = {1.57079637f, -4.37113883e-08f};

template <typename V>
SLUICE_MATH_INLINE V less_periods(V a, V n, AnglePeriod period) {
  return fma(n, constant<V>(-period.low), fma(n, constant<V>(-period.high), a));
}

// |r| <= pi / 2.
template <typename V>
SLUICE_MATH_INLINE V rough_sine(V r) {
  const V s = mul(r, r);
  const V tail = polynomial(s, 2.60609681e-06f, -0.000198097769f, 0.00833306927f, -0.166666597f);
  return fma(mul(s, r), tail, r);
}

}  // namespace internal

namespace of_float16 {

template <typename V>
SLUICE_MATH_INLINE V exp(V a) {
  // Beyond these the result is 0 or infinite.
  const V x = internal::at_most(internal::at_least(a, -20.0f), 12.0f);
  const internal::RoundedInteger<V> n = internal::round_product(x, 1.44269504f, 0);
  const V r = fma(n.value, constant<V>(-0.693147182f), x);
  const V power =
      polynomial(r, 0.00829023453f, 0.0418983911f, 0.1666764f, 0.499991461f, 0.999999705f, 1.0f);
  return internal::scale_ordinary(power, n);
}

template <typename V>
SLUICE_MATH_INLINE V exp2(V a) {
  const V x = internal::at_most(internal::at_least(a, -28.0f), 17.0f);
  const internal::RoundedInteger<V> n = internal::round_product(x, 1.0f, 0);
  const V r = sub(x, n.value);
  const V power = polynomial(r, 0.00132647351f, 0.00967151288f, 0.0555073371f, 0.240222421f,
                             0.693146978f, 1.0f);
  return internal::scale_ordinary(power, n);
}

template <typename V>
SLUICE_MATH_INLINE V sin(V a) {
  using I = IntOf<V>;
  const V x = raw_abs(a);
  const internal::RoundedInteger<V> n = internal::round_product(x, 0.318309873f, 0);
  const V sine = internal::rough_sine(internal::less_periods(x, n.value, internal::kPi));
  const I sign = shl(n.bits, constant<I>(kWidth<V> - 1));
  return internal::negate_by(sine, bit_xor(sign, bits_as<I>(a)));
}

// cos(x) = (-1)^n sin((n + 1/2) pi - x).
template <typename V>
SLUICE_MATH_INLINE V cos(V a) {
  const V shift = constant<V>(internal::FormatOf<V>::kRoundingShift);
  const V shifted = add(fma(a, constant<V>(0.318309873f), constant<V>(-0.5f)), shift);
  const V n = add(sub(shifted, shift), constant<V>(0.5f));
  const V r = neg(internal::less_periods(a, n, internal::kPi));
  return internal::negate_if_odd(internal::rough_sine(r), bits_as<IntOf<V>>(shifted));
}

template <typename V>
SLUICE_MATH_INLINE V tan(V a) {
  const V x = raw_abs(a);
  const internal::RoundedInteger<V> n = internal::round_product(x, 0.636619747f, 0);
  const V r = internal::less_periods(x, n.value, internal::kHalfPi);
  const V s = mul(r, r);
  const V tail =
      polynomial(s, 0.0201266743f, 0.0129762264f, 0.0569087081f, 0.132922754f, 0.333351612f);
  const V tangent = fma(mul(s, r), tail, r);
  const V inverse = raw_div(constant<V>(-1), tangent);
  return internal::negate_by(select(internal::has_bit(n.bits, 0), inverse, tangent),
                             bits_as<IntOf<V>>(a));
}

template <typename V>
SLUICE_MATH_INLINE V atan(V a) {
  const V x = raw_abs(a);
  const V one = constant<V>(1);
  const MaskOf<V> is_great = lt(one, x);
  const V t = select(is_great, raw_div(constant<V>(-1), x), x);
  const V base = select(is_great, constant<V>(1.57079637f), constant<V>(0));
  const V s = mul(t, t);
  const V tail = polynomial(s, 0.00810592156f, -0.0377955697f, 0.0848399475f, -0.135445297f,
                            0.198978648f, -0.333284914f);
  return internal::with_sign_of(add(base, fma(mul(s, t), tail, t)), a);
}

}  // namespace of_float16
}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_FLOAT16_H_
