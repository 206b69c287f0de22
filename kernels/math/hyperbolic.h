// Hyperbolic functions and their inverses.
#ifndef SLUICE_KERNELS_MATH_HYPERBOLIC_H_
#define SLUICE_KERNELS_MATH_HYPERBOLIC_H_

#include "kernels/math/basic.h"
#include "kernels/math/exp_log.h"
#include "kernels/math/polynomial.h"
#include "kernels/math/primitives.h"

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {
namespace internal {

// log(u + 1), or log(2 a) where `a` is so great that its square might overflow; sqrt(a^2 +- 1) is
// then `a` itself.
template <typename V>
SLUICE_MATH_INLINE V log1p_or_log_of_double(V u, V a) {
  constexpr auto kLarge =
      static_cast<ScalarOf<V>>(IntOf<ScalarOf<V>>(1) << (FormatOf<V>::kMantissaBits + 2));
  const MaskOf<V> large = lt(constant<V>(kLarge), a);
  const V argument = select(large, a, u);
  const V ln2 = constant<V>(0.69314718055994530942);
  return add(log1p(argument), select(large, ln2, constant<V>(0)));
}

}  // namespace internal

template <typename V>
SLUICE_MATH_INLINE V asinh(V a) {
  const V x = raw_abs(a);
  const V one = constant<V>(1);
  const V square = mul(x, x);
  // sqrt(1 + x^2) - 1, without cancellation.
  const V root = raw_div(square, add(one, sqrt(add(square, one))));
  return internal::with_sign_of(internal::log1p_or_log_of_double(add(x, root), x), a);
}
template <typename V>
SLUICE_MATH_INLINE V acosh(V a) {
  const V above = sub(a, constant<V>(1));
  const V root = sqrt(mul(above, add(above, constant<V>(2))));
  const V result = internal::log1p_or_log_of_double(add(above, root), a);
  return select(lt(a, constant<V>(1)), quiet_nan<V>(), result);
}
template <typename V>
SLUICE_MATH_INLINE V atanh(V a) {
  const V x = raw_abs(a);
  const V one = constant<V>(1);
  const V square = mul(x, x);
  V tail;  // (atanh(x) - x) / x^3
  if constexpr (kIsF32<V>) {
    tail = polynomial(square, 0.176380619f, 0.0516031161f, 0.1181641f, 0.142237842f, 0.20002453f,
                      0.333333015f);
  } else {
    tail = polynomial(square, 0.24125049549648858, -0.19632580346260498, 0.17509683906105314,
                      -0.0054051441661919254, 0.059585415949207146, 0.050576085165901161,
                      0.059074844136729726, 0.066644819744564376, 0.076924407394573763,
                      0.090909035838174695, 0.11111111258249132, 0.14285714283388179,
                      0.20000000000018558, 0.33333333333333282);
  }
  const V small = fma(mul(x, square), tail, x);
  const V large = mul(constant<V>(0.5), log(raw_div(add(one, x), sub(one, x))));
  return internal::with_sign_of(select(lt(x, constant<V>(0.5)), small, large), a);
}

namespace internal {

// e^|a| / 2, which overflows only where cosh does.
template <typename V>
SLUICE_MATH_INLINE V half_exp_of_abs(V a) {
  const Scaled<V> e = exp_scaled(at_most(raw_abs(a), FormatOf<V>::kExpHigh));
  return scale(mul(constant<V>(0.5), e.mantissa), e.n);
}

}  // namespace internal

template <typename V>
SLUICE_MATH_INLINE V sinh(V a) {
  const V x = raw_abs(a);
  const V half = internal::half_exp_of_abs(a);
  const V large = sub(half, raw_div(constant<V>(0.25), half));
  const V square = mul(x, x);
  V tail;  // (sinh(x) - x) / x^3
  if constexpr (kIsF32<V>) {
    tail = polynomial(square, 0.000203766336f, 0.00833022315f, 0.166667178f);
  } else {
    tail = polynomial(square, 7.7593140546605816e-13, 1.6057240273886773e-10,
                      2.5052123399526503e-08, 2.7557319155329853e-06, 0.00019841269841437708,
                      0.0083333333333331389, 0.16666666666666669);
  }
  const V small = fma(mul(x, square), tail, x);
  return internal::with_sign_of(select(lt(x, constant<V>(1)), small, large), a);
}

template <typename V>
SLUICE_MATH_INLINE V cosh(V a) {
  const V half = internal::half_exp_of_abs(a);
  return add(half, raw_div(constant<V>(0.25), half));
}

// -t / (t + 2), where t = e^(-2|a|) - 1.
template <typename V>
SLUICE_MATH_INLINE V tanh(V a) {
  const V t = internal::expm1_of_negative(mul(constant<V>(-2), raw_abs(a)));
  return internal::with_sign_of(raw_div(t, add(t, constant<V>(2))), a);
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_HYPERBOLIC_H_
