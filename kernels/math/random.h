// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011) and the distributions made of its bits. All operands are uint64 values.
#ifndef SLUICE_KERNELS_MATH_RANDOM_H_
#define SLUICE_KERNELS_MATH_RANDOM_H_

#include "kernels/math/basic.h"
#include "kernels/math/exp_log.h"
#include "kernels/math/polynomial.h"
#include "kernels/math/primitives.h"

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {
namespace internal {

// Four 32-bit words, each in the low half of a uint64 value.
template <typename V>
struct PhiloxWords {
  V word[4];
};

template <typename V>
SLUICE_MATH_INLINE V low_half(V a) {
  return bit_and(a, constant<V>(0xffffffffu));
}
template <typename V>
SLUICE_MATH_INLINE V high_half(V a) {
  return shr(a, constant<V>(32));
}

template <typename V>
SLUICE_MATH_INLINE PhiloxWords<V> philox(V index, V seed, V stream) {
  V c0 = low_half(index), c1 = high_half(index);
  V c2 = low_half(stream), c3 = high_half(stream);
  V k0 = low_half(seed), k1 = high_half(seed);
  for (int round = 0; round < 10; ++round) {
    const V product0 = mul(c0, constant<V>(0xd2511f53u));
    const V product1 = mul(c2, constant<V>(0xcd9e8d57u));
    c0 = bit_xor(bit_xor(high_half(product1), c1), k0);
    c2 = bit_xor(bit_xor(high_half(product0), c3), k1);
    c1 = low_half(product1);
    c3 = low_half(product0);
    k0 = low_half(add(k0, constant<V>(0x9e3779b9u)));
    k1 = low_half(add(k1, constant<V>(0xbb67ae85u)));
  }
  return {{c0, c1, c2, c3}};
}

template <typename V>
SLUICE_MATH_INLINE V join_halves(V low, V high) {
  return bit_or(low, shl(high, constant<V>(32)));
}

// The top `kBits` of a uint64 value as a float of type F, exactly.
template <typename F, int kBits, typename V>
SLUICE_MATH_INLINE F top_bits(V bits) {
  using I = IntOf<F>;
  return raw_convert<F>(raw_convert<I>(shr(bits, constant<V>(64 - kBits))));
}

// sin(2 pi w) for |w| <= 1/4.
template <typename V>
SLUICE_MATH_INLINE V sin_quarter_turn(V w) {
  const V s = mul(w, w);
  if constexpr (kIsF32<V>) {
    return mul(w, polynomial(s, -84.2622681f, 53.2400932f, -77.341156f, 81.6201553f, -41.3418274f,
                             6.28318548f));
  } else {
    return mul(w, polynomial(s, 0.0011009817578351128, -0.012027160697715941, 0.10422879182570026,
                             -0.71812228251353283, 3.8199525842043429, -15.094642576809164,
                             42.05869394489747, -76.705859753061389, 81.605249276075057,
                             -41.341702240399762, 6.2831853071795862));
  }
}

// Box-Muller from u1 in (0, 1] and t in [0, 1): sqrt(-2 log u1) times minus the cosine of t turns.
template <typename V>
SLUICE_MATH_INLINE V box_muller(V u1, V t) {
  const V w = sub(raw_abs(sub(t, constant<V>(0.5))), constant<V>(0.25));
  return mul(sqrt(mul(constant<V>(-2), log(u1))), sin_quarter_turn(w));
}

}  // namespace internal

// Words 0 and 1 of the block with counter {index, stream} and key `seed`; word 1 is the high half.
template <typename V>
SLUICE_MATH_INLINE V philox_low(V index, V seed, V stream) {
  const internal::PhiloxWords<V> words = internal::philox(index, seed, stream);
  return internal::join_halves(words.word[0], words.word[1]);
}
// Words 2 and 3.
template <typename V>
SLUICE_MATH_INLINE V philox_high(V index, V seed, V stream) {
  const internal::PhiloxWords<V> words = internal::philox(index, seed, stream);
  return internal::join_halves(words.word[2], words.word[3]);
}

// Uniform in [0, 1): every multiple of 2^-24 (2^-53) is as likely.
template <typename V>
SLUICE_MATH_INLINE Rebind<V, float> uniform_f32(V bits) {
  using F = Rebind<V, float>;
  return mul(internal::top_bits<F, 24>(bits), constant<F>(0x1p-24f));
}
template <typename V>
SLUICE_MATH_INLINE Rebind<V, double> uniform_f64(V bits) {
  using F = Rebind<V, double>;
  return mul(internal::top_bits<F, 53>(bits), constant<F>(0x1p-53));
}

// Standard normal, by Box-Muller. The radius comes from a uniform in (0, 1] that is at least 2^-33
// (2^-54), so no result is infinite.
template <typename V>
SLUICE_MATH_INLINE Rebind<V, float> normal_f32(V bits) {
  using F = Rebind<V, float>;
  const F low = raw_convert<F>(raw_convert<Rebind<V, uint32_t>>(bits));
  const F u1 = fma(low, constant<F>(0x1p-32f), constant<F>(0x1p-33f));
  return internal::box_muller(u1, uniform_f32(bits));
}
template <typename V>
SLUICE_MATH_INLINE Rebind<V, double> normal_f64(V low, V high) {
  using F = Rebind<V, double>;
  const F u1 = fma(internal::top_bits<F, 53>(low), constant<F>(0x1p-53), constant<F>(0x1p-54));
  return internal::box_muller(u1, uniform_f64(high));
}

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_RANDOM_H_
