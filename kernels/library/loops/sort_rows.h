// Rows: vectors of words that vector_sort.cpp sorts, with the instructions of AVX-512 or of AVX2.
#ifndef SLUICE_KERNELS_LIBRARY_LOOPS_SORT_ROWS_H_
#define SLUICE_KERNELS_LIBRARY_LOOPS_SORT_ROWS_H_

#include <immintrin.h>

#include <cstdint>

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

// Of each mask of 8 lanes of 32 bits, its lanes and then the others; of a mask of kLanes lanes of
// 64 bits, in halves of lanes.
template <int kLanes>
struct PartedLanes {
  uint8_t lanes[1 << kLanes][8];
};
template <int kLanes>
constexpr PartedLanes<kLanes> parted_lanes() {
  constexpr int kParts = 8 / kLanes;
  PartedLanes<kLanes> result{};
  for (int mask = 0; mask < 1 << kLanes; ++mask) {
    int count = 0;
    for (int is_set = 1; is_set >= 0; --is_set) {
      for (int lane = 0; lane < 8; ++lane) {
        if ((mask >> lane / kParts & 1) == is_set)
          result.lanes[mask][count++] = static_cast<uint8_t>(lane);
      }
    }
  }
  return result;
}
template <int kLanes>
inline constexpr PartedLanes<kLanes> kParted = parted_lanes<kLanes>();

// A vector of words as the instructions that compare take it: load() and store() convert. Words in
// memory are compared with a pivot by is_less().
template <typename Word>
struct Row;

#if defined(__AVX512F__) && defined(__AVX512DQ__)

// What rows of both kinds of words have in common: words are compared as they are.
template <typename Word>
struct LongRow {
  using Vector = __m512i;
  static constexpr int kLanes = 64 / sizeof(Word);
  static constexpr bool kHasMasks = true;
  static Vector load_words(const Word* x) { return _mm512_loadu_si512(x); }
  static Vector load(const Word* x) { return load_words(x); }
  static void store_words(Word* x, Vector v) { _mm512_storeu_si512(x, v); }
  static void store(Word* x, Vector v) { store_words(x, v); }
};

template <>
struct Row<uint32_t> : LongRow<uint32_t> {
  using LongRow::load, LongRow::store_words;
  using Mask = __mmask16;
  static Mask first_lanes(int64_t count) {
    return static_cast<Mask>(_bzhi_u32(0xffff, static_cast<uint32_t>(count)));
  }
  static void store_words(uint32_t* x, Mask mask, Vector v) {
    _mm512_mask_storeu_epi32(x, mask, v);
  }
  static Vector load(const uint32_t* x, int64_t count, uint32_t others) {
    return _mm512_mask_loadu_epi32(all(others), first_lanes(count), x);
  }
  static Vector all(uint32_t x) { return _mm512_set1_epi32(static_cast<int32_t>(x)); }
  static Vector min(Vector a, Vector b) { return _mm512_maskz_min_epu32(0xffff, a, b); }
  static Vector max(Vector a, Vector b) { return _mm512_maskz_max_epu32(0xffff, a, b); }
  // Puts the lesser in a. One unit alone has minima and maxima; another takes these out of both.
  static void exchange(Vector& a, Vector& b) {
    const Vector least = min(a, b);
    b = _mm512_ternarylogic_epi32(a, b, least, 0x96);  // a ^ b ^ least
    a = least;
  }
  // min(a, b), and of these lanes max(a, b).
  template <uint32_t kMask>
  static Vector extreme(Vector a, Vector b) {
    return _mm512_mask_max_epu32(min(a, b), kMask, a, b);
  }
  template <uint32_t kMask>
  static Vector blend(Vector a, Vector b) {
    return _mm512_mask_blend_epi32(kMask, a, b);
  }
  static Vector pivots(uint32_t pivot) { return all(pivot); }
  static Mask is_less(Vector words, Vector pivots) {
    return _mm512_cmplt_epu32_mask(words, pivots);
  }
  static Vector compress(Mask mask, Vector v) { return _mm512_maskz_compress_epi32(mask, v); }
};

template <>
struct Row<uint64_t> : LongRow<uint64_t> {
  using LongRow::load, LongRow::store_words;
  using Mask = __mmask8;
  static Mask first_lanes(int64_t count) {
    return static_cast<Mask>(_bzhi_u32(0xff, static_cast<uint32_t>(count)));
  }
  static void store_words(uint64_t* x, Mask mask, Vector v) {
    _mm512_mask_storeu_epi64(x, mask, v);
  }
  static Vector load(const uint64_t* x, int64_t count, uint64_t others) {
    return _mm512_mask_loadu_epi64(all(others), first_lanes(count), x);
  }
  static Vector all(uint64_t x) { return _mm512_set1_epi64(static_cast<int64_t>(x)); }
  static Vector min(Vector a, Vector b) { return _mm512_maskz_min_epu64(0xff, a, b); }
  static Vector max(Vector a, Vector b) { return _mm512_maskz_max_epu64(0xff, a, b); }
  // As above: the processor has minima and maxima of 64 bits in two steps each.
  static void exchange(Vector& a, Vector& b) {
    const Mask mask = is_less(b, a);
    const Vector least = _mm512_mask_blend_epi64(mask, a, b);
    b = _mm512_mask_blend_epi64(mask, b, a);
    a = least;
  }
  template <uint32_t kMask>
  static Vector extreme(Vector a, Vector b) {
    return _mm512_mask_blend_epi64(_kxor_mask8(is_less(b, a), kMask), a, b);
  }
  template <uint32_t kMask>
  static Vector blend(Vector a, Vector b) {
    return _mm512_mask_blend_epi64(kMask, a, b);
  }
  static Vector pivots(uint64_t pivot) { return all(pivot); }
  static Mask is_less(Vector words, Vector pivots) {
    return _mm512_cmplt_epu64_mask(words, pivots);
  }
  static Vector compress(Mask mask, Vector v) { return _mm512_maskz_compress_epi64(mask, v); }
  static Vector parted(Mask mask, Vector v) {
    return _mm512_maskz_permutexvar_epi64(
        0xff,
        _mm512_maskz_cvtepu8_epi64(
            0xff, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(&kParted<8>.lanes[mask]))),
        v);
  }
};

#elif defined(__AVX2__)

// What rows of both kinds of words have in common.
template <typename Word>
struct ShortRow {
  using Vector = __m256i;
  using Mask = uint32_t;
  static constexpr int kLanes = 32 / sizeof(Word);
  static constexpr bool kHasMasks = false;
  static Vector load_words(const Word* x) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  }
  static void store_words(Word* x, Vector v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(x), v);
  }
  static Vector parted(Mask mask, Vector v) {
    const __m128i lanes =
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(&kParted<kLanes>.lanes[mask]));
    return _mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(lanes));
  }
};

template <>
struct Row<uint32_t> : ShortRow<uint32_t> {
  static Vector load(const uint32_t* x) { return load_words(x); }
  static Vector load(const uint32_t* x, int64_t count, uint32_t others) {
    const Vector taken = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return _mm256_blendv_epi8(all(others),
                              _mm256_maskload_epi32(reinterpret_cast<const int*>(x), taken), taken);
  }
  static void store(uint32_t* x, Vector v) { store_words(x, v); }
  static Vector all(uint32_t x) { return _mm256_set1_epi32(static_cast<int32_t>(x)); }
  static Vector min(Vector a, Vector b) { return _mm256_min_epu32(a, b); }
  static Vector max(Vector a, Vector b) { return _mm256_max_epu32(a, b); }
  // Puts the lesser in a.
  static void exchange(Vector& a, Vector& b) {
    const Vector least = min(a, b);
    b = max(a, b);
    a = least;
  }
  // min(a, b), and of these lanes max(a, b).
  template <uint32_t kMask>
  static Vector extreme(Vector a, Vector b) {
    return blend<kMask>(min(a, b), max(a, b));
  }
  template <uint32_t kMask>
  static Vector blend(Vector a, Vector b) {
    return _mm256_blend_epi32(a, b, kMask);
  }
  static Vector pivots(uint32_t pivot) { return all(pivot); }
  static Mask is_less(Vector words, Vector pivots) {
    const Vector is_not = _mm256_cmpeq_epi32(max(words, pivots), words);
    return static_cast<Mask>(_mm256_movemask_ps(_mm256_castsi256_ps(is_not))) ^ 0xff;
  }
};

// Integers of 64 bits are compared with their signs.
template <>
struct Row<uint64_t> : ShortRow<uint64_t> {
  static Vector with_sign(Vector v) { return _mm256_xor_si256(v, _mm256_set1_epi64x(INT64_MIN)); }
  static Vector load(const uint64_t* x) { return with_sign(load_words(x)); }
  static Vector load(const uint64_t* x, int64_t count, uint64_t others) {
    const Vector taken =
        _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
    return with_sign(_mm256_blendv_epi8(
        all(others), _mm256_maskload_epi64(reinterpret_cast<const long long*>(x), taken), taken));
  }
  static void store(uint64_t* x, Vector v) { store_words(x, with_sign(v)); }
  static Vector all(uint64_t x) { return _mm256_set1_epi64x(static_cast<int64_t>(x)); }
  static Vector min(Vector a, Vector b) { return a > b ? b : a; }
  static Vector max(Vector a, Vector b) { return a > b ? a : b; }
  static void exchange(Vector& a, Vector& b) {
    const Vector is_greater = a > b;
    const Vector least = is_greater ? b : a;
    b = is_greater ? a : b;
    a = least;
  }
  template <uint32_t kMask>
  static Vector extreme(Vector a, Vector b) {
    return a > b ? blend<kMask>(b, a) : blend<kMask>(a, b);
  }
  template <uint32_t kMask>
  static Vector blend(Vector a, Vector b) {
    constexpr uint32_t kHalves =
        (kMask & 1) * 3 + (kMask & 2) * 6 + (kMask & 4) * 12 + (kMask & 8) * 24;
    return _mm256_blend_epi32(a, b, kHalves);
  }
  static Vector pivots(uint64_t pivot) { return with_sign(all(pivot)); }
  static Mask is_less(Vector words, Vector pivots) {
    return static_cast<Mask>(
        _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(pivots, with_sign(words)))));
  }
};

#endif

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_LOOPS_SORT_ROWS_H_
