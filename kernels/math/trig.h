// Trigonometric functions.
//
// The angle is reduced to r = x - n p, where p is pi or pi / 2 in two or three parts (Cody and
// Waite). Every product with n is fused with the subtraction that follows it, so nothing is lost
// before n itself is uncertain: angles of 2^40 and more are left to the library. float32 is
// computed in float64, where two parts of p are enough and only the last rounding shows.
#ifndef SLUICE_KERNELS_MATH_TRIG_H_
#define SLUICE_KERNELS_MATH_TRIG_H_

#include "kernels/math/basic.h"
#include "kernels/math/exp_log.h"
#include "kernels/math/external.h"
#include "kernels/math/polynomial.h"
#include "kernels/math/primitives.h"

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {
namespace internal {

// `a` with its sign changed if the integer n is odd.
template <typename V>
SLUICE_MATH_INLINE V negate_if_odd(V a, IntOf<V> n) {
  const IntOf<V> sign = shl(n, constant<IntOf<V>>(kWidth<V> - 1));
  return bits_as<V>(bit_xor(bits_as<IntOf<V>>(a), sign));
}

// True if bit `bit` of n is set.
template <typename I>
SLUICE_MATH_INLINE MaskOf<I> has_bit(I n, int bit) {
  return ne(bit_and(n, constant<I>(1 << bit)), constant<I>(0));
}

// The last terms may be anything below a float32's precision. r in [-pi / 2, pi / 2], float64.
template <typename W>
SLUICE_MATH_INLINE W sine_of_reduced_f32(W r) {
  return mul(r, polynomial(mul(r, r), 2.6057537038986969e-06, -0.00019809591342436492,
                           0.0083330660969710684, -0.16666659544960552, 1.0));
}

template <typename V>
SLUICE_MATH_INLINE V sin_f32(V a) {
  using W = Rebind<V, double>;
  const W x = raw_convert<W>(a);
  const RoundedInteger<W> n = round_product(x, 0.3183098861837907, 0);
  const W r = fma(n.value, constant<W>(-1.2246467991473532e-16),
                  fma(n.value, constant<W>(-3.141592653589793), x));
  return raw_convert<V>(negate_if_odd(sine_of_reduced_f32(r), n.bits));
}

// cos(x) = (-1)^n sin((n + 1/2) pi - x).
template <typename V>
SLUICE_MATH_INLINE V cos_f32(V a) {
  using W = Rebind<V, double>;
  const W x = raw_convert<W>(a);
  const W shift = constant<W>(FormatOf<W>::kRoundingShift);
  const W shifted = add(fma(x, constant<W>(0.3183098861837907), constant<W>(-0.5)), shift);
  const W n = add(sub(shifted, shift), constant<W>(0.5));
  const W r =
      fma(n, constant<W>(1.2246467991473532e-16), fma(n, constant<W>(3.141592653589793), neg(x)));
  return raw_convert<V>(negate_if_odd(sine_of_reduced_f32(r), bits_as<IntOf<W>>(shifted)));
}

template <typename V>
SLUICE_MATH_INLINE V tan_f32(V a) {
  using W = Rebind<V, double>;
  const W x = raw_convert<W>(a);
  const RoundedInteger<W> n = round_product(x, 0.6366197723675814, 0);
  const W r = fma(n.value, constant<W>(-6.123233995736766e-17),
                  fma(n.value, constant<W>(-1.5707963267948966), x));
  const W s = mul(r, r);
  // tan(r) = r p / q, and of every second n it is the tangent's negative inverse.
  const W p = polynomial(s, 0.0010747216053616504, -0.11135519618091516, 1.0);
  const W q = polynomial(s, 0.015970880330074662, -0.44468852832349287, 1.0);
  const W rp = mul(r, p);
  const MaskOf<W> odd = has_bit(n.bits, 0);
  const W numerator = select(odd, q, rp);
  const W denominator = select(odd, neg(rp), q);
  // A float32 quotient and one step of Newton's take less time than a float64 division.
  const W guess = raw_convert<W>(raw_div(constant<V>(1), raw_convert<V>(denominator)));
  const W inverse = fma(guess, fma(neg(denominator), guess, constant<W>(1)), guess);
  return raw_convert<V>(mul(numerator, inverse));
}

// high + low.
template <typename V>
struct Pair {
  V high;
  V low;
};

// a + b, where |a| >= |b| or a is 0, with the rounding error.
template <typename V>
SLUICE_MATH_INLINE Pair<V> fast_two_sum(V a, V b) {
  const V sum = add(a, b);
  return {sum, add(sub(a, sum), b)};
}

// float64: the angle less n pi / 2, and n.
template <typename V>
struct ReducedAngle {
  V high;
  V low;
  IntOf<V> n;
};
template <typename V>
SLUICE_MATH_INLINE ReducedAngle<V> reduce_angle(V a) {
  const RoundedInteger<V> n = round_product(a, 0.6366197723675814, 0);
  const V first = fma(n.value, constant<V>(-1.5707963267948966), a);
  const V middle = mul(n.value, constant<V>(-6.123233995736766e-17));
  const V middle_low = fma(n.value, constant<V>(-6.123233995736766e-17), neg(middle));
  // Either of the two may be the greater one.
  const V high = add(first, middle);
  const V part = sub(high, first);
  const V error = add(sub(first, sub(high, part)), sub(middle, part));
  const V low = fma(n.value, constant<V>(1.4973849048591698e-33), add(error, middle_low));
  return {high, low, n.bits};
}

// float64, of a reduced angle. The low part is needed where more is done with the result than
// rounding it.
template <typename V>
SLUICE_MATH_INLINE Pair<V> sine_of_reduced(const ReducedAngle<V>& r) {
  const V s = mul(r.high, r.high);
  const V tail =
      polynomial(s, 1.5895459266259033e-10, -2.5050734731695513e-08, 2.7557313540090304e-06,
                 -0.00019841269829361447, 0.0083333333333218424, -0.1666666666666663);
  const V low = fma(mul(constant<V>(-0.5), s), r.low, r.low);
  return fast_two_sum(r.high, fma(mul(s, r.high), tail, low));
}
template <typename V>
SLUICE_MATH_INLINE Pair<V> cosine_of_reduced(const ReducedAngle<V>& r) {
  const V s = mul(r.high, r.high);
  const V tail =
      polynomial(s, -1.1358739605874488e-11, 2.087570523560617e-09, -2.7557314216077044e-07,
                 2.4801587288999643e-05, -0.001388888888887334, 0.041666666666666595);
  const Pair<V> leading = fast_two_sum(constant<V>(1), mul(constant<V>(-0.5), s));
  const V low = fma(neg(r.high), r.low, leading.low);
  return fast_two_sum(leading.high, fma(mul(s, s), tail, low));
}

// n of the angle is in quarter turns, so of sines every second is a cosine, and the two after the
// first two have the other sign.
template <typename V>
SLUICE_MATH_INLINE V sine_in_quadrant(const ReducedAngle<V>& r, IntOf<V> n) {
  using I = IntOf<V>;
  const V value = select(has_bit(n, 0), cosine_of_reduced(r).high, sine_of_reduced(r).high);
  return negate_if_odd(value, shr(n, constant<I>(1)));
}

template <typename V>
SLUICE_MATH_INLINE V tan_f64(V a) {
  const ReducedAngle<V> r = reduce_angle(a);
  const Pair<V> sine = sine_of_reduced(r), cosine = cosine_of_reduced(r);
  const MaskOf<V> odd = has_bit(r.n, 0);
  const V numerator = select(odd, cosine.high, sine.high);
  const V denominator = select(odd, sine.high, cosine.high);
  const V inverse = raw_div(constant<V>(1), denominator);
  const V quotient = mul(numerator, inverse);
  const V rest =
      add(fma(neg(quotient), denominator, numerator),
          fma(neg(quotient), select(odd, sine.low, cosine.low), select(odd, cosine.low, sine.low)));
  const V result = negate_if_odd(fma(rest, inverse, quotient), r.n);
  return select(eq(a, constant<V>(0)), a, result);
}

// What the functions of an angle share. Infinite ones are rare too; NaN passes through the inline
// form.
template <External kOfF32, External kOfF64>
struct OfAngle {
  static constexpr External kF32 = kOfF32, kF64 = kOfF64;
  template <typename V>
  SLUICE_MATH_INLINE static MaskOf<V> is_rare(V a) {
    return le(constant<V>(0x1p40), raw_abs(a));
  }
};

}  // namespace internal

template <>
struct Guarded<fusion::Op::kSin> : internal::OfAngle<External::kSinF32, External::kSinF64> {
  template <typename V>
  SLUICE_MATH_INLINE static V usual(V a) {
    if constexpr (kIsF32<V>) {
      return internal::sin_f32(a);
    } else {
      const internal::ReducedAngle<V> r = internal::reduce_angle(a);
      return select(eq(a, constant<V>(0)), a, internal::sine_in_quadrant(r, r.n));
    }
  }
};
template <>
struct Guarded<fusion::Op::kCos> : internal::OfAngle<External::kCosF32, External::kCosF64> {
  template <typename V>
  SLUICE_MATH_INLINE static V usual(V a) {
    if constexpr (kIsF32<V>) {
      return internal::cos_f32(a);
    } else {
      const internal::ReducedAngle<V> r = internal::reduce_angle(a);
      return internal::sine_in_quadrant(r, add(r.n, constant<IntOf<V>>(1)));
    }
  }
};
template <>
struct Guarded<fusion::Op::kTan> : internal::OfAngle<External::kTanF32, External::kTanF64> {
  template <typename V>
  SLUICE_MATH_INLINE static V usual(V a) {
    if constexpr (kIsF32<V>)
      return internal::tan_f32(a);
    else
      return internal::tan_f64(a);
  }
};

template <typename V>
SLUICE_MATH_INLINE V sin(V a) {
  return internal::guarded<fusion::Op::kSin>(a);
}
template <typename V>
SLUICE_MATH_INLINE V cos(V a) {
  return internal::guarded<fusion::Op::kCos>(a);
}
template <typename V>
SLUICE_MATH_INLINE V tan(V a) {
  return internal::guarded<fusion::Op::kTan>(a);
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_TRIG_H_
