// The primitive operations that every function of kernels/math is written in, for plain C++
// numbers.
//
// kernels/llvm/ir/value.h has the same set for a type that builds LLVM IR. A function template over
// a value type V that uses only these gives the same bits in both. Rules for such templates:
//   - no branches and no loops whose trip count depends on a value: use select();
//   - no operator that C++ leaves undefined: integer arithmetic wraps (these functions see to it);
//   - no contraction: a fused multiply-add is written fma(). Translation units that instantiate
//     these templates are compiled with -ffp-contract=off -fno-math-errno -fno-trapping-math.
//
// A value type V is a bool (mask), an integer of 8 to 64 bits or a float of 32 or 64 bits.
#ifndef SLUICE_KERNELS_MATH_PRIMITIVES_H_
#define SLUICE_KERNELS_MATH_PRIMITIVES_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

// The interpreter compiles these functions several times, once for each instruction set. Every such
// translation unit names its set here, so that no inline function of one can be linked into
// another.
#ifndef SLUICE_ISA_NAMESPACE
#define SLUICE_ISA_NAMESPACE generic
#endif

// Marks the function templates of kernels/math: a loop is vectorised only if all of its body is
// inlined, which the compiler's own judgement would stop at the longer ones.
#define SLUICE_MATH_INLINE [[gnu::always_inline]] inline
// Marks their lambdas, after the parameters.
#define SLUICE_MATH_LAMBDA __attribute__((always_inline))

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {

// The types that belong to a value type: Mask, what comparisons give; Int and UInt, integers of
// its width; Scalar, the plain C++ number; Rebind<T>, the value type whose plain number is T.
template <typename V>
struct Types;

template <typename V>
requires std::is_arithmetic_v<V>
struct Types<V> {
  using Scalar = V;
  using Mask = bool;
  template <int kBytes>
  using SignedOf = std::conditional_t<
      kBytes == 1, int8_t,
      std::conditional_t<kBytes == 2, int16_t, std::conditional_t<kBytes == 4, int32_t, int64_t>>>;
  using Int = SignedOf<sizeof(V)>;
  using UInt = std::make_unsigned_t<Int>;
  // The value type of the same family whose plain number is T.
  template <typename T>
  using Rebind = T;

  template <typename T>
  static constexpr V constant(T value) {
    return static_cast<V>(value);
  }
};

template <typename V>
using ScalarOf = typename Types<V>::Scalar;
template <typename V>
using MaskOf = typename Types<V>::Mask;
template <typename V>
using IntOf = typename Types<V>::Int;
template <typename V>
using UIntOf = typename Types<V>::UInt;
template <typename V, typename T>
using Rebind = typename Types<V>::template Rebind<T>;

// A table that a vector of integers looks up in: with AVX-512 two registers, else a column of a
// table in memory.
template <typename S>
using Sixteen = std::array<S, 16>;

template <typename V>
inline constexpr bool kIsFloat = std::is_floating_point_v<ScalarOf<V>>;
template <typename V>
inline constexpr bool kIsBool = std::is_same_v<ScalarOf<V>, bool>;
template <typename V>
inline constexpr bool kIsInteger = std::is_integral_v<ScalarOf<V>> && !kIsBool<V>;
template <typename V>
inline constexpr bool kIsSigned = kIsInteger<V>&& std::is_signed_v<ScalarOf<V>>;
template <typename V>
inline constexpr bool kIsF32 = std::is_same_v<ScalarOf<V>, float>;
template <typename V>
inline constexpr bool kIsF64 = std::is_same_v<ScalarOf<V>, double>;

// True where an integer division is no worse than one of floats.
template <typename V>
inline constexpr bool kDividesIntegers = requires {
  Types<V>::kDividesIntegers;
};

template <typename T>
concept Native = std::is_arithmetic_v<T>;

// A constant of value type V. `value` is converted as C++ would.
template <typename V, typename T>
inline V constant(T value) {
  return Types<V>::constant(value);
}

// Arithmetic. Integers wrap; float operators are IEEE 754, never contracted. On bool, add is or and
// mul is and.
namespace internal {
template <typename T>
using Wrap = std::make_unsigned_t<std::conditional_t<(sizeof(T) < 4), int32_t, T>>;
}  // namespace internal

template <Native V>
inline V add(V a, V b) {
  if constexpr (kIsFloat<V>)
    return a + b;
  else if constexpr (kIsBool<V>)
    return a | b;
  else
    return static_cast<V>(internal::Wrap<V>(a) + internal::Wrap<V>(b));
}
template <Native V>
inline V sub(V a, V b) {
  if constexpr (kIsFloat<V>)
    return a - b;
  else
    return static_cast<V>(internal::Wrap<V>(a) - internal::Wrap<V>(b));
}
template <Native V>
inline V mul(V a, V b) {
  if constexpr (kIsFloat<V>)
    return a * b;
  else if constexpr (kIsBool<V>)
    return a & b;
  else
    return static_cast<V>(internal::Wrap<V>(a) * internal::Wrap<V>(b));
}
// Floats: a / b. Integers: truncated division; undefined for b == 0 and for lowest / -1, which
// callers select away beforehand.
template <Native V>
inline V raw_div(V a, V b) {
  return static_cast<V>(a / b);
}

// Float only.
inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float sqrt(float a) { return __builtin_sqrtf(a); }
inline double sqrt(double a) { return __builtin_sqrt(a); }
inline float raw_floor(float a) { return __builtin_floorf(a); }
inline double raw_floor(double a) { return __builtin_floor(a); }
inline float raw_ceil(float a) { return __builtin_ceilf(a); }
inline double raw_ceil(double a) { return __builtin_ceil(a); }
inline float raw_trunc(float a) { return __builtin_truncf(a); }
inline double raw_trunc(double a) { return __builtin_trunc(a); }
// To the nearest integer, ties to even.
inline float raw_rint(float a) { return __builtin_rintf(a); }
inline double raw_rint(double a) { return __builtin_rint(a); }
// The sign bit cleared.
inline float raw_abs(float a) { return __builtin_fabsf(a); }
inline double raw_abs(double a) { return __builtin_fabs(a); }

// Integers and bool. Shift amounts must be in [0, width). shr is arithmetic on signed types.
template <Native V>
inline V bit_and(V a, V b) {
  return static_cast<V>(a & b);
}
template <Native V>
inline V bit_or(V a, V b) {
  return static_cast<V>(a | b);
}
template <Native V>
inline V bit_xor(V a, V b) {
  return static_cast<V>(a ^ b);
}
template <Native V>
inline V shl(V a, V n) {
  return static_cast<V>(internal::Wrap<V>(a) << n);
}
template <Native V>
inline V shr(V a, V n) {
  return static_cast<V>(a >> n);
}

// Comparisons; false if an operand is NaN, save ne.
template <Native V>
inline bool lt(V a, V b) {
  return a < b;
}
template <Native V>
inline bool le(V a, V b) {
  return a <= b;
}
template <Native V>
inline bool eq(V a, V b) {
  return a == b;
}
template <Native V>
inline bool ne(V a, V b) {
  return a != b;
}

// Masks.
inline bool mask_and(bool a, bool b) { return a & b; }
inline bool mask_or(bool a, bool b) { return a | b; }
inline bool mask_xor(bool a, bool b) { return a ^ b; }
inline bool mask_not(bool a) { return !a; }

template <Native V>
inline V select(bool mask, V a, V b) {
  return mask ? a : b;
}

// `usual()` if `mask` holds in all lanes, else `full()`, which has to give the same bits where it
// does. For plain numbers it is always `full`: a loop with a branch in it is not vectorised.
template <typename Usual, typename Full>
SLUICE_MATH_INLINE auto if_all(bool, const Usual&, const Full& full) {
  return full();
}

// a 2^n for an integer n, rounded once, where the target has an instruction for that; else
// `otherwise()`, which has to give the same bits.
template <Native V, typename Otherwise>
SLUICE_MATH_INLINE V scale_or(V, V, const Otherwise& otherwise) {
  return otherwise();
}

// The same bits as another type of the same width.
template <Native To, Native From>
inline To bits_as(From a) {
  return std::bit_cast<To>(a);
}

// The entry of each table at `index` modulo 16.
template <Native V, size_t kCount, Native I>
inline std::array<V, kCount> lookup(const std::array<Sixteen<V>, kCount>& tables, I index) {
  return [&]<size_t... k>(std::index_sequence<k...>) SLUICE_MATH_LAMBDA {
    return std::array<V, kCount>{tables[k][index & 15]...};
  }
  (std::make_index_sequence<kCount>());
}

// Conversion that is exact or rounds to nearest even (integer or float to float), truncates toward
// zero (float to integer: the value must be in range), or keeps the low bits (integer to integer).
template <Native To, Native From>
inline To raw_convert(From a) {
  return static_cast<To>(a);
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_PRIMITIVES_H_
