// The error function and the activation functions of neural networks.
//
// Those that fall to zero at minus infinity (silu, mish, gelu) give -0 there, the limit, and keep
// their relative accuracy down to the subnormals.
#ifndef SLUICE_KERNELS_MATH_SPECIAL_H_
#define SLUICE_KERNELS_MATH_SPECIAL_H_

#include "kernels/math/basic.h"
#include "kernels/math/error_function.h"
#include "kernels/math/exp_log.h"
#include "kernels/math/polynomial.h"
#include "kernels/math/primitives.h"

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {
namespace internal {

// z must be in [0, 10.6]; float32. Returns e^(z^2) erfc(z) (1 - error), where z = x * factor:
// a polynomial in t = 1 / (1 + c z). A relative error of t comes out about 1 + 2 t times as great,
// so t's rounding errors are put right to first order, together with the caller's `error`.
template <typename V>
SLUICE_MATH_INLINE V scaled_erfc(V x, float factor, V error) {
  const V one = constant<V>(1);
  const V slope = constant<V>(0.40625f * factor);
  const V divisor = fma(slope, x, one);
  const V divisor_error = fma(slope, x, sub(one, divisor));
  const V t = raw_div(one, divisor);
  const V t_error = fma(neg(t), divisor_error, fma(neg(t), divisor, one));
  const V value = polynomial(t, -0.0407088213f, 0.251296043f, -0.600694895f, 0.658910334f,
                             -0.385860145f, 0.330217868f, 0.105638601f, 0.224624217f, 0.227221504f,
                             0.229360908f, -5.61510615e-06f);
  const V correction = fma(t_error, fma(constant<V>(2), t, one), neg(error));
  return fma(value, correction, value);
}

// erfc(z) for z in [0, 28.3]; float64. On a GPU the tables of erfc_by_pieces() would be slow.
template <typename V>
SLUICE_MATH_INLINE Scaled<V> erfc_without_tables(V z) {
  const V square = mul(z, z);
  const V error = fma(z, z, neg(square));
  // e^(z^2) erfc(z) (z + 3) as a polynomial in (z - 3) / (z + 3).
  const V inverse = raw_div(constant<V>(1), add(z, constant<V>(3)));
  const V t = mul(sub(z, constant<V>(3)), inverse);
  const V scaled =
      mul(inverse,
          polynomial(t, 3.4409293585217345e-10, -8.0848738759538381e-10, -7.0918656470010824e-09,
                     -3.1914456910576025e-10, 4.8892223079450844e-08, 4.4296668036162328e-08,
                     -2.3212273385060333e-07, -4.0603626889471737e-07, 9.9811695676974957e-07,
                     2.764200845739116e-06, -4.7489202503264219e-06, -1.7470121123315547e-05,
                     3.0398077811160807e-05, 0.00010756138472559606, -0.00027677782971467953,
                     -0.00054830967788014327, 0.0030340619991133838, -0.0012124166282572678,
                     -0.026827234624329208, 0.11952776128732875, -0.31046726190057244,
                     0.59022835710410138, -0.88339445316988363, 1.0740069070883398));
  const V r = fma(scaled, neg(error), scaled);
  const Scaled<V> e = exp_scaled(neg(square));
  return {mul(r, e.mantissa), e.n};
}

}  // namespace internal

template <typename V>
SLUICE_MATH_INLINE V erf(V a) {
  if constexpr (kIsF32<V>) {
    const V x = raw_abs(a);
    const V one = constant<V>(1);
    const V tail =
        polynomial(mul(x, x), -6.44877809e-06f, 9.75135772e-05f, -0.000819588837f, 0.00519320741f,
                   -0.0268514566f, 0.112834506f, -0.376126111f, 0.128379166f);
    const V small = fma(x, tail, x);
    // 1 - 1 / p^16, the form of Abramowitz and Stegun 7.1.28; p overflows to the right result.
    const V p = polynomial(x, 0.000162496974f, -0.000860907836f, 0.0046972218f, -0.000506907527f,
                           0.0542273559f, 0.0626752377f, 1.00216126f);
    const V p2 = mul(p, p);
    const V p4 = mul(p2, p2);
    const V p8 = mul(p4, p4);
    const V large = sub(one, raw_div(one, mul(p8, p8)));
    return internal::with_sign_of(select(lt(x, constant<V>(1.4f)), small, large), a);
  } else {
    return internal::erf_by_pieces(a);
  }
}

template <typename V>
SLUICE_MATH_INLINE V erfc(V a) {
  if constexpr (kIsF32<V>) {
    const V z = internal::at_most(raw_abs(a), 10.5f);
    // e^-(z^2): the square's rounding error matters, as z^2 is the exponent.
    const V square = mul(z, z);
    const V error = fma(z, z, neg(square));
    const V r = internal::scaled_erfc(z, 1.0f, error);
    const internal::Scaled<V> e = internal::exp_scaled(neg(square));
    const V result = internal::scale(mul(r, e.mantissa), e.n);
    return select(lt(a, constant<V>(0)), sub(constant<V>(2), result), result);
  } else {
    return internal::erfc_by_pieces(a);
  }
}

// x Phi(x), where Phi is the normal distribution function: max(x, 0) - |x| Phi(-|x|).
template <typename V>
SLUICE_MATH_INLINE V gelu(V a) {
  const V positive_part = select(lt(a, constant<V>(0)), constant<V>(-0.0f), a);
  if constexpr (kIsF32<V>) {
    const V x = internal::at_most(raw_abs(a), 15.0f);
    const V square = mul(x, x);
    const V error = mul(constant<V>(0.5f), fma(x, x, neg(square)));
    const V r = internal::scaled_erfc(x, 0.707106781f, error);
    const internal::Scaled<V> e = internal::exp_scaled(mul(constant<V>(-0.5f), square));
    const V product = mul(mul(mul(constant<V>(0.5f), x), r), e.mantissa);
    return sub(positive_part, internal::scale(product, e.n));
  } else {
    // erfc(x / sqrt(2)) with the rounding error of the argument put right to first order; the
    // logarithmic derivative of erfc is close to -(z + sqrt(z^2 + 4 / pi)) (Komatu's bound).
    const V x = internal::at_most(raw_abs(a), 40.0);
    const V factor = constant<V>(0.70710678118654752440);
    const V z = mul(x, factor);
    const V error = fma(x, constant<V>(-4.8336466567264567e-17), fma(x, factor, neg(z)));
    const V slope = add(z, sqrt(fma(z, z, constant<V>(1.2732395447351628))));
    const internal::Scaled<V> tail = internal::erfc_without_tables(z);
    const V corrected = fma(tail.mantissa, neg(mul(error, slope)), tail.mantissa);
    return sub(positive_part, internal::scale(mul(mul(constant<V>(0.5), x), corrected), tail.n));
  }
}

// 1 / (1 + e^-x).
template <typename V>
SLUICE_MATH_INLINE V sigmoid(V a) {
  const V e = internal::exp_of_negative(neg(raw_abs(a)));
  const V one = constant<V>(1);
  return raw_div(select(lt(a, constant<V>(0)), e, one), add(e, one));
}

// x / (1 + e^-x).
template <typename V>
SLUICE_MATH_INLINE V silu(V a) {
  using Format = internal::FormatOf<V>;
  const MaskOf<V> negative = lt(a, constant<V>(0));
  const V x = internal::at_least(neg(raw_abs(a)), Format::kExpLow);
  const internal::Scaled<V> e = internal::exp_scaled(x);
  const V numerator = select(negative, mul(x, e.mantissa), a);
  const V power = internal::scale(e.mantissa, e.n);
  const V quotient = raw_div(numerator, add(power, constant<V>(1)));
  return select(negative, internal::scale(quotient, e.n), quotient);
}

// log(1 + e^x).
template <typename V>
SLUICE_MATH_INLINE V softplus(V a) {
  const V e = internal::exp_of_negative(neg(raw_abs(a)));
  return add(relu(a), internal::log1p_of_finite(e));
}

// x tanh(softplus(x)) = x n / (n + 2), where n = e^x (e^x + 2). From 20 on that is x.
template <typename V>
SLUICE_MATH_INLINE V mish(V a) {
  const V x = internal::at_least(a, internal::FormatOf<V>::kExpLow);
  const internal::Scaled<V> e = internal::exp_scaled(x);
  const V power = internal::scale(e.mantissa, e.n);
  const V sum = add(power, constant<V>(2));
  const V quotient = raw_div(mul(e.mantissa, sum), fma(power, sum, constant<V>(2)));
  return select(lt(a, constant<V>(20)), internal::scale(mul(quotient, x), e.n), a);
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_SPECIAL_H_
