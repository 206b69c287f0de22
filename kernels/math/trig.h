// Trigonometric functions.
//
// The angle is reduced to r = x - n p, where p is pi or pi / 2 in two or three parts (Cody and
// Waite). Every product with n is fused with the subtraction that follows it, so nothing is lost
// before n itself is uncertain: angles of 2^40 and more are left to the library.
//
// r has its rounding error with it. Great angles of float32 are reduced in float64 instead, where
// two parts of p are enough and only the last rounding shows; few vectors have any.
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

// `a` with its sign changed if the sign bit of `bits` is set.
template <typename V>
SLUICE_MATH_INLINE V negate_by(V a, IntOf<V> bits) {
  using I = IntOf<V>;
  const I sign = constant<I>(ScalarOf<I>(1) << (kWidth<V> - 1));
  return bits_as<V>(bit_xor(bits_as<I>(a), bit_and(bits, sign)));
}

// The angle less n pi / 2 as high + low, and n.
template <typename V>
struct ReducedAngle {
  V high;
  V low;
  IntOf<V> n;
};
template <typename V>
SLUICE_MATH_INLINE ReducedAngle<V> reduce_angle(V a) {
  using S = ScalarOf<V>;
  constexpr bool kSingle = kIsF32<V>;
  const V first_part = constant<V>(kSingle ? S(-1.57079637) : S(-1.5707963267948966));
  const V middle_part = constant<V>(kSingle ? S(4.37113883e-08) : S(-6.123233995736766e-17));
  const V last_part = constant<V>(kSingle ? S(1.71512451e-15) : S(1.4973849048591698e-33));
  const RoundedInteger<V> n = round_product(a, S(0.6366197723675814), 0);
  const V first = fma(n.value, first_part, a);
  const V middle = mul(n.value, middle_part);
  const V middle_low = fma(n.value, middle_part, neg(middle));
  // `first` is a multiple of middle's last place, even where it is the lesser one, so that this is
  // the sum's rounding error.
  const V high = add(first, middle);
  const V error = add(sub(first, high), middle);
  return {high, fma(n.value, last_part, add(error, middle_low)), n.bits};
}

// (sin(r) - r) / r^3, (cos(r) - 1 + r^2 / 2) / r^4 and (tan(r) - r) / r^3 for r^2 = `square`.
template <typename V>
SLUICE_MATH_INLINE V sin_tail(V square) {
  if constexpr (kIsF32<V>) {
    return polynomial(square, -0.000195182918f, 0.00833218917f, -0.166666552f);
  } else {
    return polynomial(square, 1.5895459266259033e-10, -2.5050734731695513e-08,
                      2.7557313540090304e-06, -0.00019841269829361447, 0.0083333333333218424,
                      -0.1666666666666663);
  }
}
template <typename V>
SLUICE_MATH_INLINE V cos_tail(V square) {
  if constexpr (kIsF32<V>) {
    return polynomial(square, 2.44323273e-05f, -0.00138873095f, 0.0416666456f);
  } else {
    return polynomial(square, -1.1358739605874488e-11, 2.087570523560617e-09,
                      -2.7557314216077044e-07, 2.4801587288999643e-05, -0.001388888888887334,
                      0.041666666666666595);
  }
}
template <typename V>
SLUICE_MATH_INLINE V tan_tail(V square) {
  if constexpr (kIsF32<V>) {
    return polynomial(square, 0.00437272154f, 9.82131896e-05f, 0.0108274575f, 0.0212862063f,
                      0.0540589131f, 0.133326754f, 0.333333492f);
  } else {
    return long_polynomial(square, 9.7056494335474085e-06, -2.3852956153908278e-05,
                           4.7782735967802039e-05, -2.4606743591356117e-05, 6.6404850470417801e-05,
                           8.4011165031056359e-05, 0.00024357252262770474, 0.00058891528544348555,
                           0.0014560352372890073, 0.0035921023599147892, 0.0088632377769582715,
                           0.021869488408662013, 0.053968253972540944, 0.13333333333326075,
                           0.33333333333333376);
  }
}

// Of an angle in quarter turns n and the rest: of sines every second is a cosine, and the two after
// the first two have the other sign.
template <typename V>
SLUICE_MATH_INLINE V sine_in_quadrant(const ReducedAngle<V>& r, IntOf<V> n, IntOf<V> sign) {
  using I = IntOf<V>;
  const V s = mul(r.high, r.high);
  const V sine = add(r.high, fma(mul(s, r.high), sin_tail(s), r.low));
  const V one = constant<V>(1);
  const V half_square = mul(constant<V>(0.5), s);
  const V leading = sub(one, half_square);
  const V low = fma(neg(r.high), r.low, sub(sub(one, leading), half_square));
  const V cosine = add(leading, fma(mul(s, s), cos_tail(s), low));
  return negate_by(select(has_bit(n, 0), cosine, sine),
                   bit_xor(shl(n, constant<I>(kWidth<V> - 2)), sign));
}

template <typename V>
SLUICE_MATH_INLINE V sin_of_usual(V a) {
  const ReducedAngle<V> r = reduce_angle(raw_abs(a));
  return sine_in_quadrant(r, r.n, bits_as<IntOf<V>>(a));
}
template <typename V>
SLUICE_MATH_INLINE V cos_of_usual(V a) {
  const ReducedAngle<V> r = reduce_angle(a);
  return sine_in_quadrant(r, add(r.n, constant<IntOf<V>>(1)), constant<IntOf<V>>(0));
}
// With the sign of `sign`.
template <typename V>
SLUICE_MATH_INLINE V tangent_in_quadrant(const ReducedAngle<V>& r, V sign) {
  const V s = mul(r.high, r.high);
  // What low and the rounding error of the square add, where it matters, as r is nearly pi / 4.
  const V square_error = fma(r.high, r.high, neg(s));
  const V low = fma(s, mul(constant<V>(1.5), r.low),
                    fma(mul(constant<V>(0.5625), r.high), square_error, r.low));
  const V rest = fma(mul(s, r.high), tan_tail(s), low);
  const V high = add(r.high, rest);
  const V high_error = add(sub(r.high, high), rest);
  // Of every second n it is the negative inverse, whose error is put right.
  const V inverse = raw_div(constant<V>(-1), high);
  const V error = fma(inverse, high_error, fma(inverse, high, constant<V>(1)));
  return negate_by(select(has_bit(r.n, 0), fma(inverse, error, inverse), high),
                   bits_as<IntOf<V>>(sign));
}
template <typename V>
SLUICE_MATH_INLINE V tan_of_usual(V a) {
  return tangent_in_quadrant(reduce_angle(raw_abs(a)), a);
}

// The last terms may be anything below a float32's precision. r in [-pi / 2, pi / 2], float64.
template <typename W>
SLUICE_MATH_INLINE W sine_of_reduced_f32(W r) {
  return mul(r, polynomial(mul(r, r), 2.6057537038986969e-06, -0.00019809591342436492,
                           0.0083330660969710684, -0.16666659544960552, 1.0));
}

template <typename V>
SLUICE_MATH_INLINE V sin_of_great(V a) {
  using W = Rebind<V, double>;
  const W x = raw_convert<W>(a);
  const RoundedInteger<W> n = round_product(x, 0.3183098861837907, 0);
  const W r = fma(n.value, constant<W>(-1.2246467991473532e-16),
                  fma(n.value, constant<W>(-3.141592653589793), x));
  return raw_convert<V>(negate_if_odd(sine_of_reduced_f32(r), n.bits));
}

// cos(x) = (-1)^n sin((n + 1/2) pi - x).
template <typename V>
SLUICE_MATH_INLINE V cos_of_great(V a) {
  using W = Rebind<V, double>;
  const W x = raw_convert<W>(a);
  const W shift = constant<W>(FormatOf<W>::kRoundingShift);
  const W shifted = add(fma(x, constant<W>(0.3183098861837907), constant<W>(-0.5)), shift);
  const W n = add(sub(shifted, shift), constant<W>(0.5));
  const W r =
      fma(n, constant<W>(1.2246467991473532e-16), fma(n, constant<W>(3.141592653589793), neg(x)));
  return raw_convert<V>(negate_if_odd(sine_of_reduced_f32(r), bits_as<IntOf<W>>(shifted)));
}

// The tangent of r, or if `odd` of a quarter turn more. r in [-pi / 4, pi / 4], float64.
template <typename V, typename W>
SLUICE_MATH_INLINE V tangent_of_reduced_f32(W r, MaskOf<W> odd) {
  const W s = mul(r, r);
  // tan(r) = r p / q, and of every second n it is the tangent's negative inverse.
  const W p = polynomial(s, 0.0010747216053616504, -0.11135519618091516, 1.0);
  const W q = polynomial(s, 0.015970880330074662, -0.44468852832349287, 1.0);
  const W rp = mul(r, p);
  const W numerator = select(odd, q, rp);
  const W denominator = select(odd, neg(rp), q);
  // A float32 quotient and one step of Newton's take less time than a float64 division.
  const W guess = raw_convert<W>(raw_div(constant<V>(1), raw_convert<V>(denominator)));
  const W inverse = fma(guess, fma(neg(denominator), guess, constant<W>(1)), guess);
  return raw_convert<V>(mul(numerator, inverse));
}

template <typename V>
SLUICE_MATH_INLINE V tan_of_great(V a) {
  using W = Rebind<V, double>;
  const W x = raw_convert<W>(a);
  const RoundedInteger<W> n = round_product(x, 0.6366197723675814, 0);
  const W r = fma(n.value, constant<W>(-6.123233995736766e-17),
                  fma(n.value, constant<W>(-1.5707963267948966), x));
  return tangent_of_reduced_f32<V>(r, has_bit(n.bits, 0));
}

// Great angles are those from here on.
inline constexpr float kGreatAngle = 0x1p17f;

template <typename V>
SLUICE_MATH_INLINE MaskOf<V> is_small_angle(V a) {
  return lt(raw_abs(a), constant<V>(kGreatAngle));
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
  // Operands of float32 for which of_small() gives what usual() does.
  template <typename V>
  SLUICE_MATH_INLINE static MaskOf<V> is_small(V a) {
    return is_small_angle(a);
  }
};

// A function of an angle, from its form for usual ones and, of float32, that for great ones.
template <fusion::Op kOp, typename V>
SLUICE_MATH_INLINE V of_angle(V a) {
  if constexpr (kIsF32<V>) {
    return if_all(
        is_small_angle(a), [&]() SLUICE_MATH_LAMBDA { return Guarded<kOp>::of_small(a); },
        [&]() SLUICE_MATH_LAMBDA { return guarded<kOp>(a); });
  } else {
    return guarded<kOp>(a);
  }
}

}  // namespace internal

template <>
struct Guarded<fusion::Op::kSin> : internal::OfAngle<External::kSinF32, External::kSinF64> {
  template <typename V>
  SLUICE_MATH_INLINE static V of_small(V a) {
    return internal::sin_of_usual(a);
  }
  template <typename V>
  SLUICE_MATH_INLINE static V usual(V a) {
    if constexpr (kIsF32<V>)
      return select(internal::is_small_angle(a), internal::sin_of_usual(a),
                    internal::sin_of_great(a));
    else
      return internal::sin_of_usual(a);
  }
};
template <>
struct Guarded<fusion::Op::kCos> : internal::OfAngle<External::kCosF32, External::kCosF64> {
  template <typename V>
  SLUICE_MATH_INLINE static V of_small(V a) {
    return internal::cos_of_usual(a);
  }
  template <typename V>
  SLUICE_MATH_INLINE static V usual(V a) {
    if constexpr (kIsF32<V>)
      return select(internal::is_small_angle(a), internal::cos_of_usual(a),
                    internal::cos_of_great(a));
    else
      return internal::cos_of_usual(a);
  }
};
template <>
struct Guarded<fusion::Op::kTan> : internal::OfAngle<External::kTanF32, External::kTanF64> {
  template <typename V>
  SLUICE_MATH_INLINE static V of_small(V a) {
    return internal::tan_of_usual(a);
  }
  template <typename V>
  SLUICE_MATH_INLINE static V usual(V a) {
    if constexpr (kIsF32<V>)
      return select(internal::is_small_angle(a), internal::tan_of_usual(a),
                    internal::tan_of_great(a));
    else
      return internal::tan_of_usual(a);
  }
};

template <typename V>
SLUICE_MATH_INLINE V sin(V a) {
  return internal::of_angle<fusion::Op::kSin>(a);
}
template <typename V>
SLUICE_MATH_INLINE V cos(V a) {
  return internal::of_angle<fusion::Op::kCos>(a);
}
template <typename V>
SLUICE_MATH_INLINE V tan(V a) {
  return internal::of_angle<fusion::Op::kTan>(a);
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_TRIG_H_
