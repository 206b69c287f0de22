// Functions that are a few primitives each: signs, comparisons, bits, extremes.
#ifndef SLUICE_KERNELS_MATH_BASIC_H_
#define SLUICE_KERNELS_MATH_BASIC_H_

#include <limits>

#include "kernels/math/primitives.h"

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {

template <typename V>
inline constexpr int kWidth = 8 * sizeof(ScalarOf<V>);

// Constants.
template <typename V>
SLUICE_MATH_INLINE V infinity() {
  return constant<V>(std::numeric_limits<ScalarOf<V>>::infinity());
}
template <typename V>
SLUICE_MATH_INLINE V quiet_nan() {
  return constant<V>(std::numeric_limits<ScalarOf<V>>::quiet_NaN());
}
// The identities of max and min.
template <typename V>
SLUICE_MATH_INLINE V lowest() {
  if constexpr (kIsFloat<V>)
    return constant<V>(-std::numeric_limits<ScalarOf<V>>::infinity());
  else
    return constant<V>(std::numeric_limits<ScalarOf<V>>::min());
}
template <typename V>
SLUICE_MATH_INLINE V highest() {
  if constexpr (kIsFloat<V>)
    return infinity<V>();
  else
    return constant<V>(std::numeric_limits<ScalarOf<V>>::max());
}
// The identity of sum: -0 for floats, as -0 + x is x for every x, +0 and -0 included.
template <typename V>
SLUICE_MATH_INLINE V sum_identity() {
  if constexpr (kIsFloat<V>)
    return constant<V>(ScalarOf<V>(-0.0));
  else
    return constant<V>(0);
}

// Signs.
template <typename V>
SLUICE_MATH_INLINE V neg(V a) {
  return sub(sum_identity<V>(), a);
}
template <typename V>
SLUICE_MATH_INLINE V abs(V a) {
  if constexpr (kIsFloat<V>)
    return raw_abs(a);
  else if constexpr (kIsSigned<V>)
    return select(lt(a, constant<V>(0)), neg(a), a);
  else
    return a;
}
// -1, 1, or a itself where that is zero or NaN.
template <typename V>
SLUICE_MATH_INLINE V sign(V a) {
  const V zero = constant<V>(0);
  const V positive = select(lt(zero, a), constant<V>(1), a);
  if constexpr (kIsFloat<V> || kIsSigned<V>)
    return select(lt(a, zero), constant<V>(-1), positive);
  else
    return positive;
}
namespace internal {
// As copysign(), of a magnitude that is NaN if `sign` is.
template <typename V>
SLUICE_MATH_INLINE V with_sign_of(V magnitude, V sign) {
  using U = UIntOf<V>;
  const U sign_bit = constant<U>(ScalarOf<U>(1) << (kWidth<V> - 1));
  return bits_as<V>(bit_or(bits_as<U>(raw_abs(magnitude)), bit_and(bits_as<U>(sign), sign_bit)));
}
}  // namespace internal

// The sign of a NaN is not kept by arithmetic or stores, and so counts as positive here.
template <typename V>
SLUICE_MATH_INLINE V copysign(V magnitude, V sign) {
  return internal::with_sign_of(magnitude, select(ne(sign, sign), constant<V>(0), sign));
}
// Rounding to an integer; integers are left as they are. round() takes ties to even.
template <typename V>
SLUICE_MATH_INLINE V floor(V a) {
  if constexpr (kIsFloat<V>)
    return raw_floor(a);
  else
    return a;
}
template <typename V>
SLUICE_MATH_INLINE V ceil(V a) {
  if constexpr (kIsFloat<V>)
    return raw_ceil(a);
  else
    return a;
}
template <typename V>
SLUICE_MATH_INLINE V round(V a) {
  if constexpr (kIsFloat<V>)
    return raw_rint(a);
  else
    return a;
}
template <typename V>
SLUICE_MATH_INLINE V trunc(V a) {
  if constexpr (kIsFloat<V>)
    return raw_trunc(a);
  else
    return a;
}

// Predicates.
template <typename V>
SLUICE_MATH_INLINE MaskOf<V> isnan(V a) {
  if constexpr (kIsFloat<V>)
    return ne(a, a);
  else
    return constant<MaskOf<V>>(false);
}
template <typename V>
SLUICE_MATH_INLINE MaskOf<V> isinf(V a) {
  if constexpr (kIsFloat<V>)
    return eq(raw_abs(a), infinity<V>());
  else
    return constant<MaskOf<V>>(false);
}
template <typename V>
SLUICE_MATH_INLINE MaskOf<V> isfinite(V a) {
  if constexpr (kIsFloat<V>)
    return lt(raw_abs(a), infinity<V>());
  else
    return constant<MaskOf<V>>(true);
}
template <typename V>
SLUICE_MATH_INLINE MaskOf<V> equal(V a, V b) {
  return eq(a, b);
}
template <typename V>
SLUICE_MATH_INLINE MaskOf<V> not_equal(V a, V b) {
  return ne(a, b);
}
template <typename V>
SLUICE_MATH_INLINE MaskOf<V> less(V a, V b) {
  return lt(a, b);
}
template <typename V>
SLUICE_MATH_INLINE MaskOf<V> less_equal(V a, V b) {
  return le(a, b);
}

// Bits.
template <typename V>
SLUICE_MATH_INLINE V logical_not(V a) {
  return mask_not(a);
}
template <typename V>
SLUICE_MATH_INLINE V bitwise_not(V a) {
  if constexpr (kIsBool<V>)
    return mask_not(a);
  else
    return bit_xor(a, constant<V>(-1));
}
template <typename V>
SLUICE_MATH_INLINE V bitwise_and(V a, V b) {
  return bit_and(a, b);
}
template <typename V>
SLUICE_MATH_INLINE V bitwise_or(V a, V b) {
  return bit_or(a, b);
}
template <typename V>
SLUICE_MATH_INLINE V bitwise_xor(V a, V b) {
  return bit_xor(a, b);
}

namespace internal {
// True for a shift amount that the machine has; negative amounts count as past the width.
template <typename V>
SLUICE_MATH_INLINE MaskOf<V> shift_in_range(V n) {
  using U = UIntOf<V>;
  return lt(bits_as<U>(n), constant<U>(kWidth<V>));
}
}  // namespace internal

// Past the width: 0.
template <typename V>
SLUICE_MATH_INLINE V shift_left(V a, V n) {
  const V amount = bit_and(n, constant<V>(kWidth<V> - 1));
  return select(internal::shift_in_range(n), shl(a, amount), constant<V>(0));
}
// Past the width: 0, or -1 for a negative `a`.
template <typename V>
SLUICE_MATH_INLINE V shift_right(V a, V n) {
  if constexpr (kIsSigned<V>) {
    return shr(a, select(internal::shift_in_range(n), n, constant<V>(kWidth<V> - 1)));
  } else {
    const V amount = bit_and(n, constant<V>(kWidth<V> - 1));
    return select(internal::shift_in_range(n), shr(a, amount), constant<V>(0));
  }
}

// Extremes: NaN wins, and +0 is greater than -0, so that the order of operands does not matter.
// Those of floats are primitives of a kind: emitted code has other instructions for them.
template <typename V>
SLUICE_MATH_INLINE V maximum_of_floats(V a, V b) {
  using U = UIntOf<V>;
  const U magnitude = constant<U>((ScalarOf<U>(1) << (kWidth<V> - 1)) - 1);
  // It has the sign bit of both.
  const U greater = bit_and(bits_as<U>(select(lt(a, b), b, a)), bit_or(bits_as<U>(b), magnitude));
  return select(ne(b, b), b, bits_as<V>(greater));
}
template <typename V>
SLUICE_MATH_INLINE V minimum_of_floats(V a, V b) {
  using U = UIntOf<V>;
  const U sign = constant<U>(ScalarOf<U>(1) << (kWidth<V> - 1));
  // Of either.
  const U lesser = bit_or(bits_as<U>(select(lt(b, a), b, a)), bit_and(bits_as<U>(b), sign));
  return select(ne(b, b), b, bits_as<V>(lesser));
}
template <typename V>
SLUICE_MATH_INLINE V maximum(V a, V b) {
  if constexpr (kIsBool<V>)
    return bit_or(a, b);
  else if constexpr (kIsFloat<V>)
    return maximum_of_floats(a, b);
  else
    return select(lt(a, b), b, a);
}
template <typename V>
SLUICE_MATH_INLINE V minimum(V a, V b) {
  if constexpr (kIsBool<V>)
    return bit_and(a, b);
  else if constexpr (kIsFloat<V>)
    return minimum_of_floats(a, b);
  else
    return select(lt(b, a), b, a);
}
template <typename V>
SLUICE_MATH_INLINE V relu(V a) {
  return select(lt(a, constant<V>(0)), constant<V>(0), a);
}

template <typename V>
SLUICE_MATH_INLINE V relu_gradient(V y, V gradient) {
  return select(lt(constant<V>(0), y), gradient, constant<V>(0));
}

template <typename V>
SLUICE_MATH_INLINE V lerp(V a, V b, V t) {
  return add(a, mul(t, sub(b, a)));
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_BASIC_H_
