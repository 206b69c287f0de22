// Sorts words of 32 and 64 bits with AVX-512: quicksort, whose partitions compress vectors, down to
// parts that fit the registers, which a network sorts.
#include <cstdint>

#include "kernels/library/loops/loops.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>

#include "kernels/library/loops/short_lines.h"
#include "kernels/library/sort/sort_words.h"
#include "kernels/shuffled.h"
#endif

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

#if defined(__AVX512F__) && defined(__AVX512DQ__)
namespace {

// A vector of words.
template <typename Word>
struct Row;
template <>
struct Row<uint32_t> {
  using Mask = __mmask16;
  static constexpr int kLanes = 16;
  static __m512i load(const uint32_t* x, Mask mask, __m512i others) {
    return _mm512_mask_loadu_epi32(others, mask, x);
  }
  static void store(uint32_t* x, Mask mask, __m512i v) { _mm512_mask_storeu_epi32(x, mask, v); }
  static __m512i all(uint32_t x) { return _mm512_set1_epi32(static_cast<int32_t>(x)); }
  static __m512i min(__m512i a, __m512i b) { return _mm512_maskz_min_epu32(0xffff, a, b); }
  static __m512i max(__m512i a, __m512i b) { return _mm512_maskz_max_epu32(0xffff, a, b); }
  static __m512i max(__m512i a, __m512i b, Mask mask, __m512i others) {
    return _mm512_mask_max_epu32(others, mask, a, b);
  }
  // Puts the lesser in a. One unit alone has minima and maxima; another takes these out of both.
  static void exchange(__m512i& a, __m512i& b) {
    const __m512i least = min(a, b);
    b = _mm512_ternarylogic_epi32(a, b, least, 0x96);  // a ^ b ^ least
    a = least;
  }
  // min(a, b), and of these lanes max(a, b).
  static __m512i extreme(__m512i a, __m512i b, Mask mask) { return max(a, b, mask, min(a, b)); }
  static __m512i blend(Mask mask, __m512i a, __m512i b) {
    return _mm512_mask_blend_epi32(mask, a, b);
  }
  static Mask less(__m512i a, __m512i b) { return _mm512_cmplt_epu32_mask(a, b); }
  static Mask inverse(Mask mask) { return _knot_mask16(mask); }
  static __m512i compress(Mask mask, __m512i v) { return _mm512_maskz_compress_epi32(mask, v); }
};
template <>
struct Row<uint64_t> {
  using Mask = __mmask8;
  static constexpr int kLanes = 8;
  static __m512i load(const uint64_t* x, Mask mask, __m512i others) {
    return _mm512_mask_loadu_epi64(others, mask, x);
  }
  static void store(uint64_t* x, Mask mask, __m512i v) { _mm512_mask_storeu_epi64(x, mask, v); }
  static __m512i all(uint64_t x) { return _mm512_set1_epi64(static_cast<int64_t>(x)); }
  static __m512i min(__m512i a, __m512i b) { return _mm512_maskz_min_epu64(0xff, a, b); }
  static __m512i max(__m512i a, __m512i b) { return _mm512_maskz_max_epu64(0xff, a, b); }
  // As above: the processor has minima and maxima of 64 bits in two steps each.
  static void exchange(__m512i& a, __m512i& b) {
    const Mask mask = less(b, a);
    const __m512i least = blend(mask, a, b);
    b = blend(mask, b, a);
    a = least;
  }
  static __m512i extreme(__m512i a, __m512i b, Mask mask) {
    return blend(_kxor_mask8(less(b, a), mask), a, b);
  }
  static __m512i blend(Mask mask, __m512i a, __m512i b) {
    return _mm512_mask_blend_epi64(mask, a, b);
  }
  static Mask less(__m512i a, __m512i b) { return _mm512_cmplt_epu64_mask(a, b); }
  static Mask inverse(Mask mask) { return _knot_mask8(mask); }
  static __m512i compress(Mask mask, __m512i v) { return _mm512_maskz_compress_epi64(mask, v); }
};

// Of each mask of 8 lanes, its lanes and then the others.
struct PartedLanes {
  uint8_t lanes[256][8];
};
constexpr PartedLanes parted_lanes() {
  PartedLanes result{};
  for (int mask = 0; mask < 256; ++mask) {
    int count = 0;
    for (int is_set = 1; is_set >= 0; --is_set) {
      for (int lane = 0; lane < 8; ++lane) {
        if ((mask >> lane & 1) == is_set) result.lanes[mask][count++] = static_cast<uint8_t>(lane);
      }
    }
  }
  return result;
}
constexpr PartedLanes kParted = parted_lanes();

template <typename Word>
class VectorSort {
  using R = Row<Word>;
  using Mask = typename R::Mask;
  static constexpr int kLanes = R::kLanes;
  // What the registers hold.
  static constexpr int kRows = 16;
  // Vectors that a partition takes at a time; a part that it is of has three times as many.
  static constexpr int kUnrolled = 4;
  static constexpr Word kLast = static_cast<Word>(~Word{0});

 public:
  static constexpr int64_t kSmall = kRows * kLanes;
  static_assert(kRows >= 3 * kUnrolled);

  // `depth`: partitions that are left before another way to sort is taken.
  static void sort(Word* words, int64_t count, int depth) {
    while (count > kSmall) {
      if (depth-- == 0) return sort_by_comparing(words, count);
      const Word pivot = pivot_of(words, count);
      int64_t less = partition(words, count, pivot);
      if (less == 0) {
        // The pivot is the least: what equals it has its place.
        if (pivot == kLast) return;
        less = partition(words, count, pivot + 1);
      } else {
        sort(words, less, depth);
      }
      words += less;
      count -= less;
    }
    sort_small(words, count, words);
  }

  // `count` words, at most kSmall.
  static void sort_small(const Word* from, int64_t count, Word* to) {
    if (count <= kLanes) return sort_rows<1>(from, count, to);
    if (count <= 2 * kLanes) return sort_rows<2>(from, count, to);
    if (count <= 4 * kLanes) return sort_rows<4>(from, count, to);
    if (count <= 8 * kLanes) return sort_rows<8>(from, count, to);
    sort_rows<16>(from, count, to);
  }

 private:
  static Mask first_lanes(int64_t count) {
    return static_cast<Mask>(_bzhi_u32(static_cast<Mask>(~Mask{0}), static_cast<uint32_t>(count)));
  }

  // Of row `row`, those that `count` words reach.
  static Mask lanes_from(int64_t count, int row) {
    const int64_t lanes = count - row * kLanes;
    return first_lanes(lanes < 0 ? 0 : lanes < kLanes ? lanes : kLanes);
  }

  static __m512i median(__m512i a, __m512i b, __m512i c) {
    return R::max(R::min(a, b), R::min(R::max(a, b), c));
  }
  // A median of medians, of 27 words at three places.
  static Word pivot_of(const Word* words, int64_t count) {
    const int64_t last = count - kLanes;
    __m512i v = median(_mm512_loadu_si512(words + last / 8), _mm512_loadu_si512(words + last / 2),
                       _mm512_loadu_si512(words + last - last / 8));
    v = median(v, flipped<1>(v), flipped<2>(v));
    v = median(v, flipped<4>(v), flipped < kLanes == 16 ? 8 : 3 > (v));
    return reinterpret_cast<typename Lanes<Word, Word>::Vector>(v)[0];
  }

  // The places of a part that may be written, from both ends.
  struct Places {
    Word* front;
    Word* back;

    // What of v, or of its first `lanes` lanes, is less than the pivot goes to the front, the
    // others to the back. There is room for all of v at either end, or for these lanes.
    [[gnu::always_inline]] void put(__m512i v, __m512i pivots) {
      const Mask less = R::less(v, pivots);
      const auto found = static_cast<int64_t>(__builtin_popcount(less));
      if constexpr (kLanes == 8) {
        // Less costly than to compress twice: both kinds in their order.
        const __m512i parted = _mm512_maskz_permutexvar_epi64(
            0xff,
            _mm512_maskz_cvtepu8_epi64(
                0xff, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(&kParted.lanes[less]))),
            v);
        _mm512_storeu_si512(front, parted);
        front += found;
        back -= kLanes - found;
        _mm512_storeu_si512(back - found, parted);
        return;
      }
      _mm512_storeu_si512(front, R::compress(less, v));
      front += found;
      back -= kLanes - found;
      R::store(back, first_lanes(kLanes - found), R::compress(R::inverse(less), v));
    }
    [[gnu::always_inline]] void put(__m512i v, __m512i pivots, int64_t lanes) {
      const Mask taken = first_lanes(lanes);
      const auto less = static_cast<Mask>(R::less(v, pivots) & taken);
      const auto found = static_cast<int64_t>(__builtin_popcount(less));
      R::store(front, first_lanes(found), R::compress(less, v));
      front += found;
      back -= lanes - found;
      R::store(back, first_lanes(lanes - found), R::compress(static_cast<Mask>(~less & taken), v));
    }
  };

  // Puts what is less than the pivot first. Returns how many are.
  static int64_t partition(Word* words, int64_t count, Word pivot) {
    const __m512i pivots = R::all(pivot);
    constexpr int64_t kStep = kUnrolled * kLanes;
    // What is read from either end makes room there; the first of both is kept in registers.
    __m512i first[kUnrolled], last[kUnrolled];
#pragma GCC unroll 8
    for (int i = 0; i < kUnrolled; ++i) {
      first[i] = _mm512_loadu_si512(words + i * kLanes);
      last[i] = _mm512_loadu_si512(words + count - kStep + i * kLanes);
    }
    const Word* begin = words + kStep;
    const Word* end = words + count - kStep;
    Places places{words, words + count};
    while (end - begin >= kStep) {
      // From where there is less room, without a branch.
      const bool from_front = begin - places.front <= places.back - end;
      const Word* const from = from_front ? begin : end - kStep;
      begin += from_front ? kStep : 0;
      end -= from_front ? 0 : kStep;
      __m512i v[kUnrolled];
#pragma GCC unroll 8
      for (int i = 0; i < kUnrolled; ++i) v[i] = _mm512_loadu_si512(from + i * kLanes);
#pragma GCC unroll 8
      for (int i = 0; i < kUnrolled; ++i) places.put(v[i], pivots);
    }
    const int64_t rest = end - begin;
    __m512i v[kUnrolled];
#pragma GCC unroll 8
    for (int i = 0; i < kUnrolled; ++i) {
      v[i] = R::load(begin + i * kLanes, lanes_from(rest, i), pivots);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kUnrolled; ++i) places.put(first[i], pivots);
#pragma GCC unroll 8
    for (int i = 0; i < kUnrolled; ++i) places.put(last[i], pivots, kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kUnrolled; ++i) {
      const int64_t lanes = rest - i * kLanes;
      if (lanes > 0) places.put(v[i], pivots, lanes < kLanes ? lanes : kLanes);
    }
    return places.front - words;
  }

  // Lanes of whose numbers this bit is set.
  static constexpr Mask lanes_with(int bit) {
    Mask mask = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      if ((lane & bit) != 0) mask = static_cast<Mask>(mask | 1u << lane);
    }
    return mask;
  }
  // Lane i of the result is lane i ^ kFlip.
  template <int kFlip>
  static __m512i flipped(__m512i v) {
    return flipped_lanes<kFlip>(v, std::make_integer_sequence<int, kLanes>());
  }
  template <int kFlip, int... kLane>
  static __m512i flipped_lanes(__m512i v, std::integer_sequence<int, kLane...>) {
    using Vectors = Lanes<Word, Word>;
    const auto x = reinterpret_cast<typename Vectors::Vector>(v);
    return reinterpret_cast<__m512i>(shuffled<(kLane ^ kFlip)...>(x, x));
  }

  // By Batcher's odd-even merges.
  template <int kCount>
  [[gnu::always_inline]] static void sort_columns_of(__m512i (&rows)[kCount]) {
#pragma GCC unroll 8
    for (int run = 1; run < kCount; run *= 2) {
#pragma GCC unroll 8
      for (int distance = run; distance > 0; distance /= 2) {
#pragma GCC unroll 16
        for (int i = 0; i < kCount; ++i) {
          const int j = i + distance;
          if (j >= kCount || i / (2 * run) != j / (2 * run)) continue;
          if (i < distance % run || (i - distance % run) / distance % 2 != 0) continue;
          R::exchange(rows[i], rows[j]);
        }
      }
    }
  }
  // Groups of 2 * kHalf columns, of which each half is in order column by column, are put in order
  // by a bitonic merge.
  template <int kHalf, int kCount>
  [[gnu::always_inline]] static void merge_columns(__m512i (&rows)[kCount]) {
    constexpr Mask kUpper = lanes_with(kHalf);
    constexpr int kMirror = 2 * kHalf - 1;
    if constexpr (kCount == 1) {
      const __m512i other = flipped<kMirror>(rows[0]);
      rows[0] = R::extreme(rows[0], other, kUpper);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kCount / 2; ++i) {
      __m512i &a = rows[i], &b = rows[kCount - 1 - i];
      __m512i least = a, most = flipped<kMirror>(b);
      R::exchange(least, most);
      a = R::blend(kUpper, least, most);
      b = flipped<kMirror>(R::blend(kUpper, most, least));
    }
    if constexpr (kHalf >= 8) flip_merge<4>(rows);
    if constexpr (kHalf >= 4) flip_merge<2>(rows);
    if constexpr (kHalf >= 2) flip_merge<1>(rows);
#pragma GCC unroll 8
    for (int distance = kCount / 2; distance > 0; distance /= 2) {
#pragma GCC unroll 16
      for (int i = 0; i < kCount; ++i) {
        if ((i & distance) == 0) R::exchange(rows[i], rows[i + distance]);
      }
    }
  }
  template <int kDistance, int kCount>
  [[gnu::always_inline]] static void flip_merge(__m512i (&rows)[kCount]) {
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      const __m512i other = flipped<kDistance>(rows[i]);
      rows[i] = R::extreme(rows[i], other, lanes_with(kDistance));
    }
  }

  template <int kCount>
  static void sort_rows(const Word* from, int64_t count, Word* to) {
    __m512i rows[kCount];
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      rows[i] = R::load(from + i * kLanes, lanes_from(count, i), R::all(kLast));
    }
    sort_columns_of(rows);
    merge_columns<1>(rows);
    merge_columns<2>(rows);
    merge_columns<4>(rows);
    if constexpr (kLanes == 16) merge_columns<8>(rows);
    // Column by column.
    alignas(64) Word columns[kCount * kLanes], sorted[kCount * kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) _mm512_store_si512(columns + i * kLanes, rows[i]);
    transpose(columns, kLanes, kCount, kLanes, sorted, kCount);
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      R::store(to + i * kLanes, lanes_from(count, i), _mm512_load_si512(sorted + i * kLanes));
    }
  }
};

template <typename Word>
void sort(Word* words, int64_t count) {
  int depth = 8;
  for (int64_t rest = count; rest > 1; rest /= 2) depth += 2;
  VectorSort<Word>::sort(words, count, depth);
}

}  // namespace

void fill_vector_sort(LibraryLoops& table) {
  table.sort32 = sort<uint32_t>;
  table.sort64 = sort<uint64_t>;
}

#else

void fill_vector_sort(LibraryLoops& /*table*/) {}

#endif

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE
