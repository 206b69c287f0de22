// Inverse trigonometric functions.
#ifndef SLUICE_KERNELS_MATH_INVERSE_TRIG_H_
#define SLUICE_KERNELS_MATH_INVERSE_TRIG_H_

#include "kernels/math/basic.h"
#include "kernels/math/exp_log.h"
#include "kernels/math/polynomial.h"
#include "kernels/math/primitives.h"

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {
namespace internal {

// pi / 2 in two parts.
template <typename V>
inline constexpr ScalarOf<V> kHalfPiHigh = kIsF32<V> ? ScalarOf<V>(1.57079637f)
                                                     : ScalarOf<V>(1.5707963267948966);
template <typename V>
inline constexpr ScalarOf<V> kHalfPiLow = kIsF32<V> ? ScalarOf<V>(-4.37113883e-08f)
                                                    : ScalarOf<V>(6.123233995736766e-17);

// From which a number's bits are subtracted for about half of its inverse; that of 0 is finite.
template <typename V>
inline constexpr ScalarOf<IntOf<V>> kHalfOfInverse = kIsF32<V> ? ScalarOf<IntOf<V>>(0x7e7311c7)
                                                               : 0x7fce623822fc16e6;

// (asin(x) - x) / x^3 for x^2 = `square` in [0, 1/4].
template <typename V>
SLUICE_MATH_INLINE V asin_tail(V square) {
  if constexpr (kIsF32<V>) {
    return long_polynomial(square, 0.0421583503f, 0.0241847523f, 0.0454691537f, 0.0749530941f,
                           0.166667521f);
  } else {
    return long_polynomial(square, 0.032623299630879149, -0.020991590902118235,
                           0.021702803966587164, 0.0037081156837106121, 0.010779834485018857,
                           0.011398984682712049, 0.013980811503890541, 0.017351612817421841,
                           0.022372214938435487, 0.030381942709763087, 0.044642857174562997,
                           0.074999999999708647, 0.1666666666666676);
  }
}

// What asin and acos are made of. For x < 1/2: root is x and root + rest is asin(x); else root is
// sqrt((1 - x) / 2) and root + rest its arc sine, as asin(x) = pi / 2 - 2 asin(sqrt((1 - x) / 2)).
template <typename V>
struct Arc {
  V root;
  V rest;
};
template <typename V>
SLUICE_MATH_INLINE Arc<V> arc_of(V x, MaskOf<V> is_small) {
  const V half = constant<V>(0.5);
  const V other = fma(neg(half), x, half);
  const V square = select(is_small, mul(x, x), other);
  const V exact_root = sqrt(other);
  // The root's rounding error would show. It is error / (2 root), of which an eighth may be wrong:
  // to subtract the bits negates the exponent, and nearly inverts the mantissa.
  const V error = fma(neg(exact_root), exact_root, other);
  using I = IntOf<V>;
  const I half_of_inverse = sub(constant<I>(kHalfOfInverse<V>), bits_as<I>(exact_root));
  const V correction = mul(error, bits_as<V>(half_of_inverse));
  const V root = select(is_small, x, exact_root);
  const V low = select(is_small, constant<V>(0), correction);
  return {root, fma(mul(square, root), asin_tail(square), low)};
}

// (atan(t) - t) / t^3 for t^2 = `square` in [0, 1].
template <typename V>
SLUICE_MATH_INLINE V atan_tail(V square) {
  if constexpr (kIsF32<V>) {
    return polynomial(square, -0.00181258679f, 0.0109803453f, -0.0312614776f, 0.0580004938f,
                      -0.0840359926f, 0.109515496f, -0.142640427f, 0.199985296f, -0.333332986f);
  } else {
    return polynomial(square, 1.324221442210973e-05, -0.00015230495366029486,
                      0.00083188211231059836, -0.0028862623080765618, 0.0071987434130397071,
                      -0.01390333412267766, 0.021987514002885837, -0.029905887133373076,
                      0.036643156675961422, -0.04219240689997622, 0.047223467363425926,
                      -0.052535262562812102, 0.058805296952783054, -0.066664044065335742,
                      0.076922798871585735, -0.090909070076723733, 0.11111111007336195,
                      -0.14285714282587941, 0.19999999999951748, -0.33333333333333071);
  }
}

}  // namespace internal

template <typename V>
SLUICE_MATH_INLINE V asin(V a) {
  const V x = raw_abs(a);
  const MaskOf<V> is_small = lt(x, constant<V>(0.5));
  const internal::Arc<V> arc = internal::arc_of(x, is_small);
  const V half_pi = constant<V>(internal::kHalfPiHigh<V>);
  const V half_pi_low = constant<V>(internal::kHalfPiLow<V>);
  const V twice = add(arc.root, arc.root);
  const V high = sub(half_pi, twice);
  const V error = sub(sub(half_pi, high), twice);
  const V low = fma(constant<V>(-2), arc.rest, add(error, half_pi_low));
  return internal::with_sign_of(
      add(select(is_small, arc.root, high), select(is_small, arc.rest, low)), a);
}

template <typename V>
SLUICE_MATH_INLINE V acos(V a) {
  const V x = raw_abs(a);
  const MaskOf<V> is_small = lt(x, constant<V>(0.5));
  const internal::Arc<V> arc = internal::arc_of(x, is_small);
  const V zero = constant<V>(0);
  const MaskOf<V> negative = lt(a, zero);
  const V half_pi = constant<V>(internal::kHalfPiHigh<V>);
  const V half_pi_low = constant<V>(internal::kHalfPiLow<V>);
  const V root = select(negative, neg(arc.root), arc.root);
  const V rest = select(negative, neg(arc.rest), arc.rest);
  // pi / 2 - asin(a); or, doubled, asin(root), or pi / 2 less that.
  const MaskOf<V> from_half_pi = mask_or(is_small, negative);
  const V base = select(from_half_pi, half_pi, zero);
  const V base_low = select(from_half_pi, half_pi_low, zero);
  const V toward = select(is_small, neg(root), root);
  const V toward_low = select(is_small, neg(rest), rest);
  const V sum = add(base, add(toward, add(toward_low, base_low)));
  return mul(sum, select(is_small, constant<V>(1), constant<V>(2)));
}

template <typename V>
SLUICE_MATH_INLINE V atan(V a) {
  const V x = internal::at_most(raw_abs(a), 0x1p60);
  const V one = constant<V>(1);
  const MaskOf<V> large = lt(one, x);
  const V inverse = raw_div(one, x);
  const V error = mul(fma(neg(inverse), x, one), inverse);
  const V t = select(large, inverse, x);
  const V square = mul(t, t);
  const V cube = mul(square, t);
  const V slope = fma(constant<V>(-0.5), square, one);  // of atan, roughly
  const V half_pi = constant<V>(internal::kHalfPiHigh<V>);
  const V high = sub(half_pi, t);
  const V lost = add(sub(sub(half_pi, high), t), constant<V>(internal::kHalfPiLow<V>));
  const V low = select(large, fma(neg(error), slope, lost), constant<V>(0));
  const V rest = fma(select(large, neg(cube), cube), internal::atan_tail(square), low);
  return internal::with_sign_of(add(select(large, high, t), rest), a);
}

// The angle of the point (x, y), in (-pi, pi].
template <typename V>
SLUICE_MATH_INLINE V atan2(V y, V x) {
  using S = ScalarOf<V>;
  // By these the longer side's inverse keeps all bits, and so does what the quotient leaves.
  constexpr S kLarge = kIsF32<V> ? S(0x1p90) : S(0x1p900);
  constexpr S kOfSmall = kIsF32<V> ? S(0x1p64) : S(0x1p600);
  constexpr S kOfMiddle = kIsF32<V> ? S(0x1p32) : S(0x1p64);
  constexpr S kOfLarge = kIsF32<V> ? S(0x1p-40) : S(0x1p-200);
  const V zero = constant<V>(0), one = constant<V>(1);
  const V width = raw_abs(x), height = raw_abs(y);
  const MaskOf<V> steep = lt(width, height);
  const V longer = select(steep, height, width);
  const V shorter = select(steep, width, height);
  const V scale_down =
      select(lt(longer, constant<V>(kLarge)), constant<V>(kOfMiddle), constant<V>(kOfLarge));
  const V scale = select(lt(longer, one), constant<V>(kOfSmall), scale_down);
  const V denominator = mul(longer, scale);
  const V numerator = mul(shorter, scale);
  const V inverse = raw_div(one, denominator);
  const V quotient = mul(numerator, inverse);
  const V error = mul(fma(neg(quotient), denominator, numerator), inverse);
  // Two zeros make 0, two infinities 1, and NaN beside an infinity stays.
  const MaskOf<V> unbounded = eq(longer, infinity<V>());
  const MaskOf<V> special = mask_or(unbounded, eq(longer, zero));
  const V both = select(mask_and(unbounded, eq(shorter, longer)), one, mul(shorter, zero));
  const V t = select(special, both, quotient);
  const V t_error = select(special, zero, error);
  const V square = mul(t, t);
  const V slope = fma(constant<V>(-0.5), square, one);  // of atan, roughly
  const V rest = fma(mul(square, t), internal::atan_tail(square), mul(t_error, slope));
  // From the axis that the longer side is along, toward the other one.
  const V axis = constant<V>(internal::kHalfPiHigh<V>);
  const V axis_low = constant<V>(internal::kHalfPiLow<V>);
  const MaskOf<V> left = lt(bits_as<IntOf<V>>(x), constant<IntOf<V>>(0));
  const V quarter_turns = select(steep, one, select(left, constant<V>(2), zero));
  const MaskOf<V> backward = mask_xor(steep, left);
  const V angle = select(backward, neg(t), t);
  const V angle_low = fma(quarter_turns, axis_low, select(backward, neg(rest), rest));
  const V result = fma(quarter_turns, axis, add(angle, angle_low));
  return internal::with_sign_of(result, y);
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_INVERSE_TRIG_H_
