// Exponentials and logarithms.
//
// exp: x = n ln 2 + r with |r| <= ln(2) / 2 (Cody and Waite), e^r by a minimax polynomial. log:
// x = m 2^e with m in [2/3, 4/3), log(m) by a minimax polynomial in m - 1 (float32) or in
// s = (m - 1) / (m + 1), as log(m) = 2 atanh(s) (float64). Coefficients were fitted with weights
// that make the relative error of the result equal at all extremes.
#ifndef SLUICE_KERNELS_MATH_EXP_LOG_H_
#define SLUICE_KERNELS_MATH_EXP_LOG_H_

#include <bit>
#include <limits>

#include "kernels/math/basic.h"
#include "kernels/math/log_tables.h"
#include "kernels/math/polynomial.h"
#include "kernels/math/primitives.h"

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {
namespace internal {

template <typename S>
struct FloatFormat;
template <>
struct FloatFormat<float> {
  static constexpr int kMantissaBits = 23;
  static constexpr int32_t kExponentMask = ~0x7fffff;
  static constexpr int32_t kBias = 127;
  // Added to a number of small magnitude it leaves that, rounded to an integer, in the low bits.
  static constexpr float kRoundingShift = 0x1.8p23f;
  // Beyond these x even x e^x is zero, and e^x / 2 is infinite.
  static constexpr float kExpLow = -115.0f, kExpHigh = 90.0f;
  static constexpr float kExp2Low = -160.0f, kExp2High = 130.0f;
  // Below these the result is 0.
  static constexpr float kExpVanishes = -104.5f, kExp2Vanishes = -150.5f;
  // Beyond these e^x - 1 rounds to -1, and is infinite.
  static constexpr float kExpm1Low = -20.0f, kExpm1High = 89.0f;
  static constexpr float kLog2E = 1.44269504f;
  // ln 2 in two parts. n * kLn2High is a multiple of 2^-24, so x - n * kLn2High is exact.
  static constexpr float kLn2High = 0x1.62e42ep-1f, kLn2Low = 0x1.efa39ep-25f;
};
template <>
struct FloatFormat<double> {
  static constexpr int kMantissaBits = 52;
  static constexpr int64_t kExponentMask = ~0xfffffffffffff;
  static constexpr int64_t kBias = 1023;
  static constexpr double kRoundingShift = 0x1.8p52;
  static constexpr double kExpLow = -800.0, kExpHigh = 711.0;
  static constexpr double kExp2Low = -1200.0, kExp2High = 1030.0;
  static constexpr double kExpVanishes = -745.5, kExp2Vanishes = -1075.5;
  static constexpr double kExpm1Low = -40.0, kExpm1High = 710.0;
  static constexpr double kLog2E = 1.44269504088896340736;
  static constexpr double kLn2High = 0x1.62e42fefa39efp-1, kLn2Low = 0x1.abc9e3b39803fp-56;
};
template <typename V>
using FormatOf = FloatFormat<ScalarOf<V>>;

// NaN passes through these.
template <typename V>
SLUICE_MATH_INLINE V at_least(V a, ScalarOf<V> low) {
  return select(lt(a, constant<V>(low)), constant<V>(low), a);
}
template <typename V>
SLUICE_MATH_INLINE V at_most(V a, ScalarOf<V> high) {
  return select(lt(constant<V>(high), a), constant<V>(high), a);
}

// f(a), or 0 where a < low, since f(a) is too small for a subnormal there. Processors take a
// hundred times as long for a result that is rounded to 0, and masked softmaxes have many.
template <typename V, typename F>
SLUICE_MATH_INLINE V or_vanished(V a, ScalarOf<V> low, const F& f) {
  const auto vanishes = lt(a, constant<V>(low));
  const V zero = constant<V>(0);
  return select(vanishes, zero, f(select(vanishes, zero, a)));
}

// An integer n as a float, and (n + offset) in the low bits of `bits`.
template <typename V>
struct RoundedInteger {
  V value;
  IntOf<V> bits;
};

// `a` * `factor`, rounded.
template <typename V>
SLUICE_MATH_INLINE RoundedInteger<V> round_product(V a, ScalarOf<V> factor, int offset) {
  const V shift = constant<V>(FormatOf<V>::kRoundingShift + static_cast<ScalarOf<V>>(offset));
  const V shifted = fma(a, constant<V>(factor), shift);
  return {sub(shifted, shift), bits_as<IntOf<V>>(shifted)};
}

// p * 2^n, where n was rounded with an offset of 2 * kBias. 2^n is split in two, as neither
// subnormal results nor those next to overflow can be reached by one factor; only the second
// product rounds.
template <typename V>
SLUICE_MATH_INLINE V scale(V p, const RoundedInteger<V>& n) {
  return scale_or(p, n.value, [&]() SLUICE_MATH_LAMBDA {
    using I = IntOf<V>;
    const I mantissa_bits = constant<I>(FormatOf<V>::kMantissaBits);
    const I half = shr(n.bits, constant<I>(1));
    const I other_half = sub(n.bits, half);
    return mul(mul(p, bits_as<V>(shl(half, mantissa_bits))),
               bits_as<V>(shl(other_half, mantissa_bits)));
  });
}

// scale(mantissa, n) is the value. It rounds where that is subnormal, so a caller that has more
// factors multiplies them with the mantissa.
template <typename V>
struct Scaled {
  V mantissa;
  RoundedInteger<V> n;
};

// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
template <typename V>
SLUICE_MATH_INLINE V exp_tail(V r) {
  if constexpr (kIsF32<V>) {
    return polynomial(r, 0.00138204172f, 0.00836868491f, 0.0416682698f, 0.166665211f, 0.49999994f);
  } else {
    return polynomial(r, 2.092446574805672e-09, 2.5109152389357354e-08, 2.7557242704589742e-07,
                      2.7557243895853163e-06, 2.4801587360598728e-05, 0.00019841269886418082,
                      0.0013888888888866826, 0.008333333333321525, 0.041666666666666699,
                      0.16666666666666677, 0.5);
  }
}

template <typename V>
SLUICE_MATH_INLINE V reduce_by_ln2(V a, V n) {
  const V r = fma(n, constant<V>(-FormatOf<V>::kLn2High), a);
  return fma(n, constant<V>(-FormatOf<V>::kLn2Low), r);
}

// e^a for kExpLow <= a <= kExpHigh or NaN.
template <typename V>
SLUICE_MATH_INLINE Scaled<V> exp_scaled(V a) {
  const RoundedInteger<V> n = round_product(a, FormatOf<V>::kLog2E, 2 * FormatOf<V>::kBias);
  const V r = reduce_by_ln2(a, n.value);
  const V p = add(fma(mul(r, r), exp_tail(r), r), constant<V>(1));
  return {p, n};
}

// e^a for a <= 0 or NaN.
template <typename V>
SLUICE_MATH_INLINE V exp_of_negative(V a) {
  return or_vanished(a, FormatOf<V>::kExpVanishes, [](V x) SLUICE_MATH_LAMBDA {
    const Scaled<V> e = exp_scaled(x);
    return scale(e.mantissa, e.n);
  });
}

// e^r - 1, where a = n ln 2 + r.
template <typename V>
SLUICE_MATH_INLINE V expm1_of_reduced(V a, V n) {
  const V r = reduce_by_ln2(a, n);
  return fma(mul(r, r), exp_tail(r), r);
}

template <typename V>
SLUICE_MATH_INLINE V power_of_two(IntOf<V> biased_exponent) {
  return bits_as<V>(shl(biased_exponent, constant<IntOf<V>>(FormatOf<V>::kMantissaBits)));
}

// e^a - 1 for a <= 0 or NaN; +0 for zeros.
template <typename V>
SLUICE_MATH_INLINE V expm1_of_negative(V a) {
  const V x = at_least(a, FormatOf<V>::kExpm1Low);
  const RoundedInteger<V> n = round_product(x, FormatOf<V>::kLog2E, FormatOf<V>::kBias);
  const V power = power_of_two<V>(n.bits);
  return fma(expm1_of_reduced(x, n.value), power, sub(power, constant<V>(1)));
}

// (2^r - 1) / r for |r| <= 1 / 2.
template <typename V>
SLUICE_MATH_INLINE V exp2_quotient(V r) {
  if constexpr (kIsF32<V>) {
    return polynomial(r, 0.000154612819f, 0.00133911741f, 0.00961806625f, 0.0555035919f,
                      0.240226507f, 0.693147182f);
  } else {
    return polynomial(r, 2.5740858964400351e-11, 4.4566968502590938e-10, 7.0548889973346705e-09,
                      1.0178051058327225e-07, 1.3215486830837684e-06, 1.5252733856597005e-05,
                      0.00015403530393344171, 0.0013333558146390056, 0.0096181291076284925,
                      0.055504108664821701, 0.24022650695910072, 0.69314718055994529);
  }
}

// -e, in the place of the exponent bits, for x = m 2^e with m in [least, 2 least): e is how many
// whole powers of two bits(x) is above bits(least), rounded down, so -e is that negated and rounded
// up.
template <typename V>
inline constexpr ScalarOf<V> kLeastMantissa = ScalarOf<V>(2) / 3;
template <typename V>
SLUICE_MATH_INLINE IntOf<V> negated_exponent(V a, ScalarOf<V> least = kLeastMantissa<V>) {
  using I = IntOf<V>;
  using S = ScalarOf<V>;
  constexpr auto kMask = FormatOf<V>::kExponentMask;
  const auto origin = std::bit_cast<IntOf<S>>(least) + ~kMask;
  return bit_and(sub(constant<I>(origin), bits_as<I>(a)), constant<I>(kMask));
}

// log(1 + f) - f + f^2 / 2 + low, for half_square = f^2 / 2; float64. With s = f / (2 + f) it is
// s (f^2 / 2 + s^2 (...)).
template <typename V>
SLUICE_MATH_INLINE V log_rest(V f, V half_square, V low) {
  const V s = raw_div(f, add(constant<V>(2), f));
  const V s2 = mul(s, s);
  const V tail = mul(s2, polynomial(s2, 0.1384431888739095, 0.13173404841608774,
                                    0.15391123935351733, 0.1818166549148745, 0.22222224303277127,
                                    0.28571428555763062, 0.40000000000056979, 0.66666666666666596));
  return fma(s, add(half_square, tail), low);
}

// log(1 + f) + e ln 2, with -e in the place of the exponent bits.
template <typename V>
SLUICE_MATH_INLINE V log_of_reduced(V f, V minus_exponent) {
  constexpr auto kUnit = ScalarOf<V>(1) / static_cast<ScalarOf<V>>(IntOf<ScalarOf<V>>(1)
                                                                   << FormatOf<V>::kMantissaBits);
  const V square = mul(f, f);
  if constexpr (kIsF32<V>) {
    const V tail = polynomial(f, -0.131693438f, 0.139618084f, -0.121203661f, 0.140110552f,
                              -0.16685079f, 0.200100347f, -0.249996975f, 0.333332241f, -0.5f);
    return fma(minus_exponent, constant<V>(-0.693147182f * kUnit), fma(square, tail, f));
  } else {
    const V half_square = mul(constant<V>(0.5), square);
    const V low = mul(minus_exponent, constant<V>(-FormatOf<V>::kLn2Low * kUnit));
    const V log1p_f = sub(f, sub(half_square, log_rest(f, half_square, low)));
    return fma(minus_exponent, constant<V>(-FormatOf<V>::kLn2High * kUnit), log1p_f);
  }
}

// A positive x, reduced.
template <typename V>
struct LogReduced {
  V f;
  V minus_exponent;
};

// Positive, finite and not subnormal.
template <typename V>
SLUICE_MATH_INLINE MaskOf<V> is_ordinary(V a) {
  using S = ScalarOf<V>;
  using U = UIntOf<V>;
  constexpr auto kLeast = std::bit_cast<UIntOf<S>>(std::numeric_limits<S>::min());
  constexpr auto kInfinity = std::bit_cast<UIntOf<S>>(std::numeric_limits<S>::infinity());
  return lt(sub(bits_as<U>(a), constant<U>(kLeast)), constant<U>(kInfinity - kLeast));
}
template <typename V>
SLUICE_MATH_INLINE LogReduced<V> reduce_ordinary(V a, ScalarOf<V> least = kLeastMantissa<V>) {
  using I = IntOf<V>;
  const I minus_exponent = negated_exponent(a, least);
  const V mantissa = bits_as<V>(add(bits_as<I>(a), minus_exponent));
  return {sub(mantissa, constant<V>(1)), raw_convert<V>(minus_exponent)};
}
// Subnormals too.
template <typename V>
SLUICE_MATH_INLINE LogReduced<V> reduce_for_log(V a, ScalarOf<V> least = kLeastMantissa<V>) {
  using S = ScalarOf<V>;
  constexpr int kBits = FormatOf<V>::kMantissaBits;
  constexpr S kScale = static_cast<S>(IntOf<S>(1) << kBits);
  const MaskOf<V> tiny = lt(a, constant<V>(std::numeric_limits<S>::min()));
  const LogReduced<V> scaled = reduce_ordinary(select(tiny, mul(a, constant<V>(kScale)), a), least);
  const V shift = select(tiny, constant<V>(kScale * kBits), constant<V>(0));
  return {scaled.f, add(scaled.minus_exponent, shift)};
}

// `result` where x > low and finite; the logarithm's special values elsewhere, with its pole at
// `low`.
template <typename V>
SLUICE_MATH_INLINE V with_log_specials(V a, ScalarOf<V> low, V result) {
  const V pole = constant<V>(low);
  const V at_or_below = select(eq(a, pole), neg(infinity<V>()), quiet_nan<V>());
  const V outside = select(le(a, pole), at_or_below, a);
  return select(mask_and(lt(pole, a), lt(a, infinity<V>())), result, outside);
}

// A logarithm of any `a`, from that of a reduced one. Most vectors have ordinary numbers only.
template <typename V, typename OfReduced>
SLUICE_MATH_INLINE V log_by(V a, const OfReduced& of_reduced,
                            ScalarOf<V> least = kLeastMantissa<V>) {
  return if_all(
      is_ordinary(a), [&]() SLUICE_MATH_LAMBDA { return of_reduced(reduce_ordinary(a, least)); },
      [&]() SLUICE_MATH_LAMBDA {
        return with_log_specials(a, 0, of_reduced(reduce_for_log(a, least)));
      });
}

// A logarithm of float64, in 16 pieces of a mantissa: log(x) = e log(2) + log(1 / inverse) + log(1
// + r), where `inverse` is that of a number in the middle of the piece, and 1 where the logarithm
// is small.
template <typename V>
SLUICE_MATH_INLINE V log_by_pieces(V a, const LogTables& tables) {
  return log_by(
      a,
      [&](const LogReduced<V>& x) SLUICE_MATH_LAMBDA {
        const IntOf<V> piece = round_product(x.f, kPiecesPerUnit, 0).bits;
        const auto [inverse, piece_high, piece_low] = lookup<V>(tables.of_piece, piece);
        const V r = fma(x.f, inverse, sub(inverse, constant<V>(1)));
        const V linear = mul(r, constant<V>(tables.factor.high));
        const V linear_low = fma(r, constant<V>(tables.factor.low),
                                 fma(r, constant<V>(tables.factor.high), neg(linear)));
        // A sum without rounding errors, and no less than what is added next, if it isn't 0.
        const V exponent = mul(x.minus_exponent, constant<V>(-0x1p-52));
        const V middle = fma(exponent, constant<V>(tables.ln2.high), piece_high);
        const V middle_low = fma(exponent, constant<V>(tables.ln2.low), piece_low);
        const V sum = add(middle, linear);
        const V error = add(sub(middle, sum), linear);
        V tail = constant<V>(tables.tail[0]);
#pragma GCC unroll 8
        for (size_t i = 1; i < tables.tail.size(); ++i) {
          tail = fma(tail, r, constant<V>(tables.tail[i]));
        }
        const V rest = fma(mul(r, r), tail, add(middle_low, linear_low));
        return add(sum, add(error, rest));
      },
      kLeastOfPieces);
}

// log(1 + a) for finite a > -1.
template <typename V>
SLUICE_MATH_INLINE V log1p_of_finite(V a) {
  using I = IntOf<V>;
  const I minus_exponent = negated_exponent(add(a, constant<V>(1)));
  // f = (1 + a) 2^-e - 1 = a 2^-e - (1 - 2^-e), where 2^-e may be subnormal but 2^(2-e) isn't.
  const V scaled = bits_as<V>(add(bits_as<I>(a), minus_exponent));
  const V four = bits_as<V>(add(bits_as<I>(constant<V>(4)), minus_exponent));
  const V f = sub(scaled, fma(constant<V>(-0.25), four, constant<V>(1)));
  return log_of_reduced(f, raw_convert<V>(minus_exponent));
}

}  // namespace internal

template <typename V>
SLUICE_MATH_INLINE V exp(V a) {
  using Format = internal::FormatOf<V>;
  return internal::or_vanished(a, Format::kExpVanishes, [](V x) SLUICE_MATH_LAMBDA {
    const internal::Scaled<V> e = internal::exp_scaled(internal::at_most(x, Format::kExpHigh));
    return internal::scale(e.mantissa, e.n);
  });
}

template <typename V>
SLUICE_MATH_INLINE V exp2(V a) {
  using Format = internal::FormatOf<V>;
  return internal::or_vanished(a, Format::kExp2Vanishes, [](V x) SLUICE_MATH_LAMBDA {
    const V clamped = internal::at_most(x, Format::kExp2High);
    const internal::RoundedInteger<V> n = internal::round_product(clamped, 1, 2 * Format::kBias);
    const V r = sub(clamped, n.value);
    const V power = fma(r, internal::exp2_quotient(r), constant<V>(1));
    return internal::scale(power, n);
  });
}

template <typename V>
SLUICE_MATH_INLINE V expm1(V a) {
  using Format = internal::FormatOf<V>;
  const V x = internal::at_most(internal::at_least(a, Format::kExpm1Low), Format::kExpm1High);
  // (e^r - 1) 2^n + (2^n - 1), in halves, as 2^n overflows before the result does.
  const internal::RoundedInteger<V> n =
      internal::round_product(x, Format::kLog2E, Format::kBias - 1);
  const V power = internal::power_of_two<V>(n.bits);
  const V half = fma(internal::expm1_of_reduced(x, n.value), power, sub(power, constant<V>(0.5)));
  return internal::with_sign_of(add(half, half), a);
}

template <typename V>
SLUICE_MATH_INLINE V log(V a) {
  return internal::log_by(a, [](const internal::LogReduced<V>& x) SLUICE_MATH_LAMBDA {
    return internal::log_of_reduced(x.f, x.minus_exponent);
  });
}

// log2 and log10 in float32: a polynomial for log(1 + f) / f less a constant that a product with f
// doesn't round much, so that the leading term is as good as exact.
template <typename V>
SLUICE_MATH_INLINE V log2(V a) {
  if constexpr (kIsF64<V>) return internal::log_by_pieces(a, internal::kLog2Tables);
  return internal::log_by(a, [](const internal::LogReduced<V>& x) SLUICE_MATH_LAMBDA {
    const V tail =
        polynomial(x.f, -0.176998869f, 0.204271048f, -0.178030431f, 0.201428443f, -0.240467876f,
                   0.288741469f, -0.360675603f, 0.480895102f, -0.721347511f, 0.442695051f);
    return fma(x.minus_exponent, constant<V>(-0x1p-23f), fma(x.f, tail, x.f));
  });
}

template <typename V>
SLUICE_MATH_INLINE V log10(V a) {
  if constexpr (kIsF64<V>) return internal::log_by_pieces(a, internal::kLog10Tables);
  return internal::log_by(a, [](const internal::LogReduced<V>& x) SLUICE_MATH_LAMBDA {
    const V tail =
        polynomial(x.f, -0.056325715f, 0.0615844578f, -0.0528218001f, 0.0606212206f, -0.0724516213f,
                   0.0869202614f, -0.108572371f, 0.144763872f, -0.217147246f, -0.0657055154f);
    const V mantissa_part = fma(x.f, tail, mul(constant<V>(0.5), x.f));
    const V low = fma(x.minus_exponent, constant<V>(1.43204888e-08f * 0x1p-23f), mantissa_part);
    return fma(x.minus_exponent, constant<V>(-0.30103001f * 0x1p-23f), low);
  });
}

template <typename V>
SLUICE_MATH_INLINE V log1p(V a) {
  return if_all(
      mask_and(lt(constant<V>(-1), a), lt(a, infinity<V>())),
      [&]() SLUICE_MATH_LAMBDA { return internal::log1p_of_finite(a); },
      [&]() SLUICE_MATH_LAMBDA {
        return internal::with_log_specials(a, -1, internal::log1p_of_finite(a));
      });
}

// log(exp(a) + exp(b)).
template <typename V>
SLUICE_MATH_INLINE V logaddexp(V a, V b) {
  // Equal infinities would give NaN.
  const V difference = select(eq(a, b), constant<V>(0), sub(a, b));
  const V ratio = internal::exp_of_negative(neg(raw_abs(difference)));
  return add(maximum(a, b), internal::log1p_of_finite(ratio));
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_EXP_LOG_H_
