// Vectors of sums, and how elements get into them and back. Included by the files that are compiled
// for each instruction set: everything is in that set's namespace, since an inline function that
// sets share would be linked with the instructions of any of them.
#ifndef SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_LANES_H_
#define SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_LANES_H_

#include <cstdint>
#include <type_traits>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/shuffled.h"
#include "kernels/vector_bytes.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

// The first `count` lanes, of kSize bytes each (4 or 8), of a vector of kBytes.
#if defined(__AVX512F__)
inline constexpr bool kHasMasks = true;
template <int kBytes, int kSize>
struct LaneMask {
  typedef int64_t Bits __attribute__((vector_size(kBytes)));
  using Lanes = std::conditional_t<kBytes / kSize == 16, uint16_t, uint8_t>;
  Lanes lanes;

  explicit LaneMask(int64_t count) : lanes(static_cast<Lanes>((uint32_t{1} << count) - 1)) {}
  Bits load(const void* x) const {
    if constexpr (kSize == 4) {
      if constexpr (kBytes == 64) return reinterpret_cast<Bits>(_mm512_maskz_loadu_epi32(lanes, x));
      if constexpr (kBytes == 32) return reinterpret_cast<Bits>(_mm256_maskz_loadu_epi32(lanes, x));
      if constexpr (kBytes == 16) return reinterpret_cast<Bits>(_mm_maskz_loadu_epi32(lanes, x));
    } else {
      if constexpr (kBytes == 64) return reinterpret_cast<Bits>(_mm512_maskz_loadu_epi64(lanes, x));
      if constexpr (kBytes == 32) return reinterpret_cast<Bits>(_mm256_maskz_loadu_epi64(lanes, x));
      if constexpr (kBytes == 16) return reinterpret_cast<Bits>(_mm_maskz_loadu_epi64(lanes, x));
    }
  }
  void store(void* x, Bits bits) const {
    if constexpr (kSize == 4) {
      if constexpr (kBytes == 64)
        _mm512_mask_storeu_epi32(x, lanes, reinterpret_cast<__m512i>(bits));
      if constexpr (kBytes == 32)
        _mm256_mask_storeu_epi32(x, lanes, reinterpret_cast<__m256i>(bits));
      if constexpr (kBytes == 16) _mm_mask_storeu_epi32(x, lanes, reinterpret_cast<__m128i>(bits));
    } else {
      if constexpr (kBytes == 64)
        _mm512_mask_storeu_epi64(x, lanes, reinterpret_cast<__m512i>(bits));
      if constexpr (kBytes == 32)
        _mm256_mask_storeu_epi64(x, lanes, reinterpret_cast<__m256i>(bits));
      if constexpr (kBytes == 16) _mm_mask_storeu_epi64(x, lanes, reinterpret_cast<__m128i>(bits));
    }
  }
};
#elif defined(__AVX2__)
inline constexpr bool kHasMasks = true;
template <int kBytes, int kSize>
struct LaneMask {
  typedef int64_t Bits __attribute__((vector_size(kBytes)));
  using Lane = std::conditional_t<kSize == 4, int32_t, int64_t>;
  typedef Lane Lanes __attribute__((vector_size(kBytes)));
  typedef Bits Unaligned __attribute__((aligned(1), may_alias));
  Lanes lanes;
  int64_t count;
  bool all;

  explicit LaneMask(int64_t count) : count(count), all(count == kBytes / kSize) {
    Lanes places;
#pragma GCC unroll 8
    for (int i = 0; i < kBytes / kSize; ++i) places[i] = i;
    lanes = places < Lanes{} + static_cast<Lane>(count);
  }
  Bits load(const void* x) const {
    if constexpr (kSize == 4) {
      const auto* const from = static_cast<const int*>(x);
      if constexpr (kBytes == 32) {
        return reinterpret_cast<Bits>(
            _mm256_maskload_epi32(from, reinterpret_cast<__m256i>(lanes)));
      } else {
        return reinterpret_cast<Bits>(_mm_maskload_epi32(from, reinterpret_cast<__m128i>(lanes)));
      }
    } else {
      const auto* const from = static_cast<const long long*>(x);
      if constexpr (kBytes == 32) {
        return reinterpret_cast<Bits>(
            _mm256_maskload_epi64(from, reinterpret_cast<__m256i>(lanes)));
      } else {
        return reinterpret_cast<Bits>(_mm_maskload_epi64(from, reinterpret_cast<__m128i>(lanes)));
      }
    }
  }
  // In parts of halving size: a masked store is microcode on Zen.
  void store(void* x, Bits bits) const {
    if (all) {
      *static_cast<Unaligned*>(x) = bits;
      return;
    }
    char* to = static_cast<char*>(x);
    __m128i left;
    if constexpr (kBytes == 32) {
      const auto both = reinterpret_cast<__m256i>(bits);
      left = _mm256_castsi256_si128(both);
      if ((count * kSize & 16) != 0) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), left);
        left = _mm256_extracti128_si256(both, 1);
        to += 16;
      }
    } else {
      left = reinterpret_cast<__m128i>(bits);
    }
    if ((count * kSize & 8) != 0) {
      _mm_storeu_si64(to, left);
      left = _mm_unpackhi_epi64(left, left);
      to += 8;
    }
    if (kSize == 4 && count % 2 != 0) _mm_storeu_si32(to, left);
  }
};
#else
inline constexpr bool kHasMasks = false;
template <int kBytes, int kSize>
struct LaneMask;
#endif

// So many bytes, `ahead` bytes after x.
inline void prefetch(const void* x, int64_t ahead, int64_t bytes) {
  const char* const from = static_cast<const char*>(x) + ahead;
  for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(from + i);
}

struct NoMask {
  explicit NoMask(int64_t /*count*/) {}
};

// Elements of the half types.
struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
template <typename T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// Of the bits of a T, as uint32_t, a float; or of vectors of them.
template <typename T, typename Float, typename Bits>
inline Float float_of_bits(Bits bits) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return __builtin_bit_cast(Float, bits << 16);
  } else {
    const Bits magnitude = bits & 0x7fff;
    // Moving the exponent into place leaves it too small by 112; a multiplication puts that right
    // for subnormals, too.
    const Bits moved = magnitude << 13;
    const Bits scaled = __builtin_bit_cast(Bits, __builtin_bit_cast(Float, moved) * 0x1p112f);
    return __builtin_bit_cast(
        Float, (magnitude >= 0x7c00 ? moved | 0x7f800000 : scaled) | (bits & 0x8000) << 16);
  }
}

// An element of a product. T: of operands; S: of sums.
template <typename T, typename S>
struct Element {
  static constexpr bool kSame = std::is_same_v<T, S>;
  using Result = std::conditional_t<kIsHalf<T>, S, T>;

  static S widened(T x) {
    if constexpr (kIsHalf<T>) {
      return float_of_bits<T, float>(uint32_t{x.bits});
    } else {
      return static_cast<S>(x);
    }
  }

  static S multiply_add(S a, S b, S sum) {
    // Short integers would be promoted to int, which must not overflow.
    if constexpr (std::is_integral_v<S> && sizeof(S) < 4) {
      return static_cast<S>(static_cast<uint32_t>(a) * b + sum);
    } else {
      return a * b + sum;
    }
  }
  static Result stored(S sum) {
    if constexpr (std::is_floating_point_v<S>) {
      return sum == sum ? sum : static_cast<S>(__builtin_nan(""));
    } else {
      return static_cast<Result>(sum);
    }
  }
};

// Vectors of kBytes bytes.
template <typename T, typename S, int kBytes = kVectorBytes>
struct Lanes : Element<T, S> {
  using Element<T, S>::kSame, Element<T, S>::widened;
  typedef S Vector __attribute__((vector_size(kBytes)));
  typedef S Unaligned __attribute__((vector_size(kBytes), aligned(alignof(S))));
  static constexpr int kCount = kBytes / sizeof(S);
  using Stored = std::conditional_t<kIsHalf<T>, uint16_t, T>;
  typedef Stored Elements __attribute__((vector_size(kCount * sizeof(T)), aligned(alignof(T))));

  using Operand = S;  // in memory, of tiles

  static Vector load_sums(const S* x) { return *reinterpret_cast<const Unaligned*>(x); }
  static Vector add_product(S factor, Vector row, Vector sum) { return sum + factor * row; }
  static Vector load(const T* x) {
    if constexpr (kSame) {
      return load_sums(x);
    } else if constexpr (kIsHalf<T>) {
      return load_halves(x);
    } else {
      return __builtin_convertvector(*reinterpret_cast<const Elements*>(x), Vector);
    }
  }
  static Vector load_halves(const T* x) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<T, Float16> && kBytes == 64) {
      return reinterpret_cast<Vector>(
          _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x))));
    }
    if constexpr (std::is_same_v<T, BFloat16> && kBytes == 64) {
      // GCC 12 widens the halves of the vector twice each.
      const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
      typedef uint32_t Words __attribute__((vector_size(kBytes)));
      return reinterpret_cast<Vector>(
          reinterpret_cast<Words>(_mm512_maskz_cvtepu16_epi32(0xffff, bits)) << 16);
    }
#endif
#if defined(__F16C__)
    if constexpr (std::is_same_v<T, Float16> && kBytes == 32) {
      return reinterpret_cast<Vector>(
          _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
    }
    if constexpr (std::is_same_v<T, Float16> && kBytes == 16) {
      return reinterpret_cast<Vector>(
          _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x))));
    }
#endif
    typedef uint32_t Bits __attribute__((vector_size(kBytes)));
    return float_of_bits<T, Vector>(
        __builtin_convertvector(*reinterpret_cast<const Elements*>(x), Bits));
  }
  // `count` elements, one after another.
  static void widen(const T* x, int64_t count, S* out) {
    int64_t i = 0;
    for (; i + kCount <= count; i += kCount) {
      *reinterpret_cast<Unaligned*>(out + i) = load(x + i);
    }
    for (; i < count; ++i) out[i] = widened(x[i]);
  }
  static Vector canonical(Vector sums) {
    if constexpr (std::is_floating_point_v<S>) {
      const Vector nan = Vector{} + static_cast<S>(__builtin_nan(""));
      return sums == sums ? sums : nan;
    } else {
      return sums;
    }
  }

  // The first lanes of a vector; others are not read, which gives zeros, nor written.
  static constexpr bool kMasks = kSame && kHasMasks && sizeof(S) >= 4;
  using Mask = std::conditional_t<kMasks, LaneMask<kBytes, sizeof(S)>, NoMask>;
  static Vector load(const S* x, const Mask& mask) {
    return reinterpret_cast<Vector>(mask.load(x));
  }
  static void store(S* x, const Mask& mask, Vector values) {
    mask.store(x, reinterpret_cast<typename Mask::Bits>(values));
  }
};

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_LANES_H_
