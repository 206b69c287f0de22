// Powers and lengths.
//
// x^y = 2^(y log2 |x|), for float32 in float64. For float64 the logarithm and the product have a
// low part: the product's absolute error becomes the result's relative one.
#ifndef SLUICE_KERNELS_MATH_POW_H_
#define SLUICE_KERNELS_MATH_POW_H_

#include "kernels/math/basic.h"
#include "kernels/math/exp_log.h"
#include "kernels/math/polynomial.h"
#include "kernels/math/primitives.h"

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {
namespace internal {

// Square and multiply over every bit of the exponent; wraps. Negative exponents give 0.
template <typename V>
SLUICE_MATH_INLINE V integer_pow(V base, V exponent) {
  const V zero = constant<V>(0);
  const V one = constant<V>(1);
  V result = one;
  V square = base;
  for (int bit = 0; bit < kWidth<V> - (kIsSigned<V> ? 1 : 0); ++bit) {
    const V set = bit_and(shr(exponent, constant<V>(bit)), one);
    result = select(ne(set, zero), mul(result, square), result);
    square = mul(square, square);
  }
  if constexpr (kIsSigned<V>) {
    result = select(lt(exponent, zero), zero, result);
  }
  return result;
}

// The result of a power from the exponent's two parts.
template <typename V>
struct Exponent {
  V high;
  V low;
};

// log2(x) to 2^-35 of the result, for x > 0 that is no subnormal float64.
template <typename W>
SLUICE_MATH_INLINE W log2_f32(W x) {
  using I = IntOf<W>;
  const I minus_exponent = negated_exponent(x);
  const W f = sub(bits_as<W>(add(bits_as<I>(x), minus_exponent)), constant<W>(1));
  const W quotient = long_polynomial(
      f, 0.15754054019824687, -0.16610529295398785, 0.12356324110512908, -0.13746108301822477,
      0.16089116971969364, -0.18080606835528698, 0.20607597735373442, -0.24043366002167746,
      0.28853944160270462, -0.36067397862831724, 0.48089834396344761, -0.72134751956919096,
      1.442695040892326);
  return fma(f, quotient, mul(raw_convert<W>(minus_exponent), constant<W>(-0x1p-52)));
}

// 2^a to float32's precision; `a` is float64 or NaN.
template <typename W>
SLUICE_MATH_INLINE W exp2_f32(W a) {
  const W x = at_most(at_least(a, -200.0), 200.0);
  const RoundedInteger<W> n = round_product(x, 1.0, FormatOf<W>::kBias);
  const W r = sub(x, n.value);
  const W p = polynomial(r, 0.00015594892287402602, 0.0013406648001116426, 0.0096176921966925899,
                         0.055503105371714496, 0.24022652788639259, 0.69314721497878018, 1.0);
  return mul(p, power_of_two<W>(n.bits));
}

// log2(x), reduced by kLeastOfPieces; float64. The error is 2^-63 of the result. As
// log_by_pieces(): e + log2(1 / inverse) + log2(1 + r), of which r, r^2 and their sums have a low
// part.
template <typename V>
SLUICE_MATH_INLINE Exponent<V> precise_log2(const LogReduced<V>& x) {
  const LogTables& tables = kLog2Tables;
  const V one = constant<V>(1);
  const V minus_half = constant<V>(-0.5);
  const IntOf<V> piece = round_product(x.f, kPiecesPerUnit, 0).bits;
  const auto [inverse, piece_high, piece_low] = lookup<V>(tables.of_piece, piece);
  // The sum is not rounded: an inverse less 1 has few digits, and mostly is the product's negative.
  const V product = mul(x.f, inverse);
  const V r = add(product, sub(inverse, one));
  const V r_low = fma(x.f, inverse, neg(product));
  const V square = mul(r, r);
  const V square_low = fma(r, r, neg(square));
  // r - r^2 / 2.
  const V w = fma(minus_half, square, r);
  const V w_low =
      fma(r_low, sub(one, r), fma(minus_half, square_low, fma(minus_half, square, sub(r, w))));
  const V factor = constant<V>(tables.factor.high);
  const V log2 = mul(w, factor);
  // (log2(1 + r) - w / ln 2) / r^3.
  const V tail = long_polynomial(r, -0.12045936612121914, 0.13140693076090307, -0.1442693259507437,
                                 0.16029925714976506, -0.18033688016116842, 0.20609929160946305,
                                 -0.2404491734814901, 0.2885390081777886, -0.36067376022224085,
                                 0.4808983469629878);
  const V log2_low = fma(w_low, factor,
                         fma(w, constant<V>(tables.factor.low),
                             fma(mul(square, r), tail, add(fma(w, factor, neg(log2)), piece_low))));
  const V middle = fma(x.minus_exponent, constant<V>(-0x1p-52), piece_high);
  const V sum = add(middle, log2);
  const V rest = add(add(sub(middle, sum), log2), log2_low);
  const V high = add(sum, rest);
  return {high, add(sub(sum, high), rest)};
}

// 2^(high + low), where |low| is small beside 1.
template <typename V>
SLUICE_MATH_INLINE V exp2_of_sum(V high, V low) {
  using Format = FormatOf<V>;
  const V x = at_most(at_least(high, Format::kExp2Low), Format::kExp2High);
  const RoundedInteger<V> n = round_product(x, 1, 2 * Format::kBias);
  const V r = sub(x, n.value);
  const V in_range = select(eq(x, high), low, constant<V>(0));
  const V one = constant<V>(1);
  const V quotient = exp2_quotient(r);
  const V relative = mul(in_range, constant<V>(0.69314718055994531));
  const V change = fma(r, quotient, mul(relative, fma(r, quotient, one)));
  return scale(add(change, one), n);
}

// The logarithm of a magnitude, from that of a finite positive one: infinite at both ends.
template <typename V, typename W>
SLUICE_MATH_INLINE W log2_with_ends(V magnitude, W log2) {
  const W bounded = select(lt(magnitude, infinity<V>()), log2, raw_convert<W>(magnitude));
  return select(eq(magnitude, constant<V>(0)), neg(infinity<W>()), bounded);
}

template <typename V>
SLUICE_MATH_INLINE V power_of_magnitude(V magnitude, V exponent) {
  const V zero = constant<V>(0);
  // 1 to any power and anything to the power 0 are 1, even if the other one is infinite or NaN.
  const MaskOf<V> is_one = mask_or(eq(magnitude, constant<V>(1)), eq(exponent, zero));
  if constexpr (kIsF32<V>) {
    using W = Rebind<V, double>;
    const W log2 = log2_with_ends(magnitude, log2_f32(raw_convert<W>(magnitude)));
    const W product = mul(log2, raw_convert<W>(exponent));
    return raw_convert<V>(exp2_f32(select(is_one, constant<W>(0), product)));
  } else {
    const Exponent<V> log2 = precise_log2(reduce_for_log(magnitude, kLeastOfPieces));
    const V high = log2_with_ends(magnitude, log2.high);
    const V product = mul(high, exponent);
    const V low = fma(log2.low, exponent, fma(high, exponent, neg(product)));
    return exp2_of_sum(select(is_one, zero, product), select(is_one, zero, low));
  }
}

// As power_of_magnitude(), of an ordinary number and a finite exponent.
template <typename V>
SLUICE_MATH_INLINE V power_of_ordinary(V base, V exponent) {
  if constexpr (kIsF32<V>) {
    using W = Rebind<V, double>;
    return raw_convert<V>(exp2_f32(mul(log2_f32(raw_convert<W>(base)), raw_convert<W>(exponent))));
  } else {
    const Exponent<V> log2 = precise_log2(reduce_ordinary(base, kLeastOfPieces));
    const V product = mul(log2.high, exponent);
    return exp2_of_sum(product, fma(log2.low, exponent, fma(log2.high, exponent, neg(product))));
  }
}

// As in IEEE 754: NaN for a negative base and an exponent that is no integer.
template <typename V>
SLUICE_MATH_INLINE V power_of_any(V base, V exponent) {
  using I = IntOf<V>;
  const V magnitude = raw_abs(base);
  const V power = power_of_magnitude(magnitude, exponent);
  const V half = mul(exponent, constant<V>(0.5));
  const MaskOf<V> is_integer = eq(raw_rint(exponent), exponent);
  const MaskOf<V> is_odd = mask_and(is_integer, ne(raw_rint(half), half));
  const I sign = bit_and(bits_as<I>(base), constant<I>(ScalarOf<I>(1) << (kWidth<V> - 1)));
  const I negative_if_odd = select(is_odd, sign, constant<I>(0));
  const V result = bits_as<V>(bit_xor(bits_as<I>(power), negative_if_odd));
  const MaskOf<V> is_negative = mask_and(lt(base, constant<V>(0)), lt(magnitude, infinity<V>()));
  return select(mask_and(is_negative, mask_not(is_integer)), quiet_nan<V>(), result);
}

}  // namespace internal

template <typename V>
SLUICE_MATH_INLINE V pow(V base, V exponent) {
  if constexpr (kIsInteger<V>)
    return internal::integer_pow(base, exponent);
  else
    return if_all(
        mask_and(internal::is_ordinary(base), lt(raw_abs(exponent), infinity<V>())),
        [&]() SLUICE_MATH_LAMBDA { return internal::power_of_ordinary(base, exponent); },
        [&]() SLUICE_MATH_LAMBDA { return internal::power_of_any(base, exponent); });
}

namespace internal {

// sqrt(p^2 + q^2) of numbers whose squares are in range.
template <typename V>
SLUICE_MATH_INLINE V root_of_squares(V p, V q) {
  const V p2 = mul(p, p), q2 = mul(q, q);
  const V errors = add(fma(p, p, neg(p2)), fma(q, q, neg(q2)));
  return sqrt(add(p2, add(q2, errors)));
}

}  // namespace internal

// sqrt(a^2 + b^2). An infinite operand gives infinity, even beside a NaN.
template <typename V>
SLUICE_MATH_INLINE V hypot(V a, V b) {
  using S = ScalarOf<V>;
  using I = IntOf<V>;
  // Squares of greater numbers, or of lesser ones, may leave the range.
  constexpr S kGreat = kIsF32<V> ? S(0x1p60) : S(0x1p500);
  constexpr S kScale = kIsF32<V> ? S(0x1p80) : S(0x1p600);
  // Magnitudes are in the order of their bits, and NaN is the greatest.
  const I x = bits_as<I>(raw_abs(a)), y = bits_as<I>(raw_abs(b));
  const V longer = bits_as<V>(maximum(x, y)), shorter = bits_as<V>(minimum(x, y));
  return if_all(
      mask_and(le(constant<V>(S(1) / kGreat), longer), le(longer, constant<V>(kGreat))),
      [&]() SLUICE_MATH_LAMBDA { return internal::root_of_squares(longer, shorter); },
      [&]() SLUICE_MATH_LAMBDA {
        const V one = constant<V>(1);
        const MaskOf<V> is_great = lt(constant<V>(kGreat), longer);
        const MaskOf<V> is_small = lt(longer, constant<V>(S(1) / kGreat));
        const V scale = select(is_great, constant<V>(S(1) / kScale),
                               select(is_small, constant<V>(kScale), one));
        const V back = select(is_great, constant<V>(kScale),
                              select(is_small, constant<V>(S(1) / kScale), one));
        const V length =
            mul(internal::root_of_squares(mul(longer, scale), mul(shorter, scale)), back);
        const I infinite = bits_as<I>(infinity<V>());
        return select(mask_or(eq(x, infinite), eq(y, infinite)), infinity<V>(), length);
      });
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_POW_H_
