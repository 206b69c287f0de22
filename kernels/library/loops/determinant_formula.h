// Determinants of two and three rows by their formula, a matrix a lane.
//
// A minor is within two ulps, however its products cancel, so the sum of three is no less accurate
// than that of an elimination; see below when one overflows.
#ifndef SLUICE_KERNELS_LIBRARY_LOOPS_DETERMINANT_FORMULA_H_
#define SLUICE_KERNELS_LIBRARY_LOOPS_DETERMINANT_FORMULA_H_

#include <cstdint>
#include <type_traits>

#include "kernels/library/loops/any_lane.h"
#include "kernels/vector_bytes.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

template <typename T, int kRows>
class DeterminantFormula {
  using Integer = std::conditional_t<sizeof(T) == sizeof(float), int32_t, int64_t>;
  typedef T Vector __attribute__((vector_size(kVectorBytes), may_alias));
  typedef Integer Mask __attribute__((vector_size(kVectorBytes), may_alias));
  typedef double Doubles __attribute__((vector_size(kVectorBytes), may_alias));
  typedef int64_t Doublings __attribute__((vector_size(kVectorBytes), may_alias));
  static constexpr int kDoubles = kVectorBytes / sizeof(double);
  static constexpr bool kIsDouble = std::is_same_v<T, double>;

 public:
  static constexpr bool kIsKnown = kRows == 2 || kRows == 3;

  // Lanes of the mask: where a part of the formula may have overflowed or lost digits.
  static Mask run(const Vector (&m)[kRows][kRows], Vector& result) {
    if constexpr (kIsDouble) {
      result = determinant(m);
      return doubtful(m, result);
    } else {
      // Products of floats are exact in double precision, and nothing overflows.
      typedef float Floats __attribute__((vector_size(kVectorBytes / 2), may_alias));
      for (int half = 0; half < 2; ++half) {
        Doubles wide[kRows][kRows];
        for (int r = 0; r < kRows; ++r) {
          for (int c = 0; c < kRows; ++c) {
            wide[r][c] =
                __builtin_convertvector(reinterpret_cast<const Floats*>(&m[r][c])[half], Doubles);
          }
        }
        reinterpret_cast<Floats*>(&result)[half] =
            __builtin_convertvector(determinant(wide), Floats);
      }
      return Mask{};
    }
  }

 private:
  static Doubles determinant(const Doubles (&m)[kRows][kRows]) {
    if constexpr (kRows == 2) {
      return minor(m[0][0], m[0][1], m[1][0], m[1][1]);
    } else {
      return m[0][0] * minor(m[1][1], m[1][2], m[2][1], m[2][2]) -
             m[0][1] * minor(m[1][0], m[1][2], m[2][0], m[2][2]) +
             m[0][2] * minor(m[1][0], m[1][1], m[2][0], m[2][1]);
    }
  }
  static Doubles minor(Doubles a, Doubles b, Doubles c, Doubles d) {
    const Doubles first = a * d, second = b * c;
    const Doubles difference = first - second;
    if constexpr (kIsDouble) {
      return difference + (error_of(first, a, d) - error_of(second, b, c));
    } else {
      return difference;
    }
  }
  // x * y - product, exactly.
  static Doubles error_of(const Doubles& product, const Doubles& x, const Doubles& y) {
    Doubles error;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    const double* const xs = reinterpret_cast<const double*>(&x);
    const double* const ys = reinterpret_cast<const double*>(&y);
    const double* const products = reinterpret_cast<const double*>(&product);
    double* const errors = reinterpret_cast<double*>(&error);
    for (int lane = 0; lane < kDoubles; ++lane) {
      errors[lane] = __builtin_fma(xs[lane], ys[lane], -products[lane]);
    }
#else
    const Doubles x_high = upper_half(x), x_low = x - x_high;
    const Doubles y_high = upper_half(y), y_low = y - y_high;
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low;
#endif
    return error;
  }
  // The first 26 digits.
  static Doubles upper_half(const Doubles& x) {
    const Doubles shifted = x * (0x1p27 + 1);
    return shifted - (shifted - x);
  }

  // Overflow has made the result infinite or NaN, and less than 2^-1072 of a minor has vanished,
  // which the first row multiplies.
  static Doublings doubtful(const Doubles (&m)[kRows][kRows], const Doubles& result) {
    Doubles most = Doubles{} + 1.0;
    for (int c = 0; c < kRows; ++c) most += magnitude(m[0][c]);
    const Doubles size = magnitude(result);
    const Doublings doubtful = ~((size > most * 0x1p-1000) & (size < 0x1p1000));
    return any_lane(doubtful) ? doubtful & ~is_plain(m) : doubtful;
  }
  // Whether no part of the formula can overflow or vanish: that is so where it cancels to 0.
  static Doublings is_plain(const Doubles (&m)[kRows][kRows]) {
    Doublings plain = ~Doublings{};
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < kRows; ++c) {
        const Doubles size = magnitude(m[r][c]);
        plain &= (size == 0.0) | ((size > 0x1p-300) & (size < 0x1p300));
      }
    }
    return plain;
  }
  static Doubles magnitude(const Doubles& x) {
    return reinterpret_cast<Doubles>(reinterpret_cast<Doublings>(x) & INT64_MAX);
  }
};

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_LOOPS_DETERMINANT_FORMULA_H_
