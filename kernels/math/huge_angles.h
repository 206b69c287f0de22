// Sine, cosine and tangent of angles of 2^40 and more, one at a time, by integers (Payne and
// Hanek): of the product with 2 / pi, whose binary digits are in a table, only those bits are
// computed that are neither whole turns nor too small to matter.
#ifndef SLUICE_KERNELS_MATH_HUGE_ANGLES_H_
#define SLUICE_KERNELS_MATH_HUGE_ANGLES_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/math/primitives.h"
#include "kernels/math/trig.h"

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {
namespace internal {

// 2 / pi: the digit at place k, counted from the first word's first, stands for 2^(63 - k).
inline constexpr uint64_t kTwoOverPi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
    0xf0cfbc209af4361d, 0xa9e391615ee61b08, 0x6599855f14a06840,
};

// 64 digits from a place on.
inline uint64_t digits_of_two_over_pi(int place) {
  const int word = place / 64, shift = place % 64;
  return kTwoOverPi[word] << shift | kTwoOverPi[word + 1] >> 1 >> (63 - shift);
}

// An angle is mantissa 2^exponent, where the mantissa is an integer. By the digits of 2 / pi from
// the place exponent + 62 on, it makes twos of quarter turns in the product's first bit.
struct IntegerAngle {
  uint64_t mantissa;
  int place;
};
template <typename T>
IntegerAngle integer_angle(T x) {
  using Bits = UIntOf<T>;
  constexpr int kBits = FormatOf<T>::kMantissaBits;
  const Bits bits = std::bit_cast<Bits>(x);
  const Bits leading = Bits{1} << kBits;
  const int exponent =
      static_cast<int>(bits >> kBits) - static_cast<int>(FormatOf<T>::kBias) - kBits;
  return {(bits & (leading - 1)) | leading, exponent + 62};
}

// Finite and 2^40 or more: others are not asked for, but may be in the same vector.
template <typename T>
bool is_huge_angle(T x) {
  return x >= T(0x1p40) && x <= std::numeric_limits<T>::max();
}

inline ReducedAngle<double> reduce_huge_angle(double x) {
  using Wide = unsigned __int128;
  const IntegerAngle a = integer_angle(x);
  const Wide low = Wide{a.mantissa} * digits_of_two_over_pi(a.place + 128);
  const Wide middle = Wide{a.mantissa} * digits_of_two_over_pi(a.place + 64);
  const uint64_t high = a.mantissa * digits_of_two_over_pi(a.place);
  // In quarter turns, of which two bits are whole ones.
  const Wide product = (Wide{high} << 64) + middle + (low >> 64);
  const Wide rounded = product + (Wide{1} << 125);
  const auto n = static_cast<int64_t>(static_cast<uint64_t>(rounded >> 64) >> 62);
  // The rest is signed, and exactly the sum of three floats.
  const Wide rest = product << 2;
  const auto top = static_cast<int64_t>(rest >> 64);
  const auto bottom = static_cast<uint64_t>(rest);
  const uint64_t between = static_cast<uint64_t>(top) << 53 >> 11 | bottom >> 22;
  const auto last = static_cast<int64_t>(bottom & 0x3fffff);
  const double first = static_cast<double>(top >> 11) * 0x1p-53;
  const double second = static_cast<double>(static_cast<int64_t>(between)) * 0x1p-106;
  const double third = static_cast<double>(last) * 0x1p-128;
  const double turn = first + second;
  const double turn_low = (first - turn) + second + third;
  constexpr double kHalfPi = 1.5707963267948966, kHalfPiRest = 6.123233995736766e-17;
  const double r = turn * kHalfPi;
  const double error = std::fma(turn, kHalfPi, -r);
  return {r, std::fma(turn, kHalfPiRest, std::fma(turn_low, kHalfPi, error)), n};
}

// In half turns, modulo 2, in units of 2^-63.
inline uint64_t half_turns(float x) {
  const IntegerAngle a = integer_angle(x);
  const uint64_t low = a.mantissa * (digits_of_two_over_pi(a.place + 64) >> 32) >> 32;
  return a.mantissa * digits_of_two_over_pi(a.place) + low;
}
inline float sine_of_half_turns(uint64_t turns) {
  const uint64_t n = (turns + (uint64_t{1} << 62)) >> 63;
  const auto rest = static_cast<int64_t>(turns - (n << 63));
  const double r = static_cast<double>(rest) * (3.141592653589793 * 0x1p-63);
  return static_cast<float>(negate_if_odd(sine_of_reduced_f32(r), static_cast<int64_t>(n)));
}

}  // namespace internal

inline double sin_of_huge_angle(double a) {
  const double x = std::abs(a);
  if (!internal::is_huge_angle(x)) return std::numeric_limits<double>::quiet_NaN();
  const internal::ReducedAngle<double> r = internal::reduce_huge_angle(x);
  return internal::sine_in_quadrant(r, r.n, std::bit_cast<int64_t>(a));
}
inline double cos_of_huge_angle(double a) {
  const double x = std::abs(a);
  if (!internal::is_huge_angle(x)) return std::numeric_limits<double>::quiet_NaN();
  const internal::ReducedAngle<double> r = internal::reduce_huge_angle(x);
  return internal::sine_in_quadrant(r, r.n + 1, int64_t{0});
}
inline double tan_of_huge_angle(double a) {
  const double x = std::abs(a);
  if (!internal::is_huge_angle(x)) return std::numeric_limits<double>::quiet_NaN();
  return internal::tangent_in_quadrant(internal::reduce_huge_angle(x), a);
}

inline float sin_of_huge_angle(float a) {
  const float x = std::abs(a);
  if (!internal::is_huge_angle(x)) return std::numeric_limits<float>::quiet_NaN();
  return internal::negate_by(internal::sine_of_half_turns(internal::half_turns(x)),
                             std::bit_cast<int32_t>(a));
}
inline float cos_of_huge_angle(float a) {
  const float x = std::abs(a);
  if (!internal::is_huge_angle(x)) return std::numeric_limits<float>::quiet_NaN();
  return internal::sine_of_half_turns(internal::half_turns(x) + (uint64_t{1} << 62));
}
inline float tan_of_huge_angle(float a) {
  const float x = std::abs(a);
  if (!internal::is_huge_angle(x)) return std::numeric_limits<float>::quiet_NaN();
  const uint64_t turns = internal::half_turns(x);
  const uint64_t n = (turns + (uint64_t{1} << 61)) >> 62;
  const auto rest = static_cast<int64_t>(turns - (n << 62));
  const double r = static_cast<double>(rest) * (1.5707963267948966 * 0x1p-62);
  return internal::negate_by(internal::tangent_of_reduced_f32<float>(r, n % 2 != 0),
                             std::bit_cast<int32_t>(a));
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_HUGE_ANGLES_H_
