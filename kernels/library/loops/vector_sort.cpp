// Sorts words of 32 and 64 bits with AVX-512 or AVX2: quicksort, whose partitions compress vectors,
// down to parts that fit the registers, which a network sorts.
#include <cstdint>

#include "kernels/library/loops/loops.h"

#if (defined(__AVX512F__) && defined(__AVX512DQ__)) || defined(__AVX2__)
#define SLUICE_SORTS_VECTORS 1

#include <utility>

#include "kernels/library/loops/short_lines.h"
#include "kernels/library/loops/sort_rows.h"
#include "kernels/library/sort/sort_words.h"
#include "kernels/shuffled.h"
#endif

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

#if SLUICE_SORTS_VECTORS
namespace {

// The exchanges of Batcher's odd-even merges, by which kCount rows are sorted column by column.
template <int kCount>
struct Exchanges {
  int count = 0;
  int lesser[4 * kCount] = {}, greater[4 * kCount] = {};
};
template <int kCount>
constexpr Exchanges<kCount> batcher() {
  Exchanges<kCount> result;
  for (int run = 1; run < kCount; run *= 2) {
    for (int distance = run; distance > 0; distance /= 2) {
      for (int i = 0; i + distance < kCount; ++i) {
        const int j = i + distance;
        if (i / (2 * run) != j / (2 * run)) continue;
        if (i < distance % run || (i - distance % run) / distance % 2 != 0) continue;
        result.lesser[result.count] = i;
        result.greater[result.count++] = j;
      }
    }
  }
  return result;
}
template <int kCount>
constexpr Exchanges<kCount> kBatcher = batcher<kCount>();

template <typename Word>
class VectorSort {
  using R = Row<Word>;
  using Vector = typename R::Vector;
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
    sort_small(words, count);
  }

  // `count` words, at most kSmall.
  static void sort_small(Word* words, int64_t count) {
    if (count <= kLanes) return sort_rows<1>(words, count);
    if (count <= 2 * kLanes) return sort_rows<2>(words, count);
    if (count <= 4 * kLanes) return sort_rows<4>(words, count);
    if (count <= 8 * kLanes) return sort_rows<8>(words, count);
    sort_rows<16>(words, count);
  }

 private:
  // Of row `row`, how many of `count` words.
  static int64_t lanes_of(int64_t count, int row) {
    const int64_t lanes = count - row * kLanes;
    return lanes < 0 ? 0 : lanes < kLanes ? lanes : kLanes;
  }

  static Vector median(Vector a, Vector b, Vector c) {
    return R::max(R::min(a, b), R::min(R::max(a, b), c));
  }
  // A median of medians, of 27 words at three places (12, of four lanes).
  static Word pivot_of(const Word* words, int64_t count) {
    const int64_t last = count - kLanes;
    Vector v = median(R::load(words + last / 8), R::load(words + last / 2),
                      R::load(words + last - last / 8));
    v = median(v, flipped<1>(v), flipped<2>(v));
    v = median(v, flipped < kLanes == 4 ? 2 : 4 > (v), flipped < kLanes == 16 ? 8 : 3 > (v));
    Word lanes[kLanes];
    R::store(lanes, v);
    return lanes[0];
  }

  // The places of a part that may be written, from both ends.
  struct Places {
    Word* front;
    Word* back;

    // What of v is less than the pivot goes to the front, the others to the back. There is room for
    // v at either end.
    [[gnu::always_inline]] void put(Vector v, Vector pivots) {
      const Mask less = R::is_less(v, pivots);
      const auto found = static_cast<int64_t>(__builtin_popcount(less));
      if constexpr (kLanes != 16) {
        // Less costly than to compress twice: both kinds in their order.
        const Vector parted = R::parted(less, v);
        R::store_words(front, parted);
        front += found;
        back -= kLanes - found;
        R::store_words(back - found, parted);
      } else {
        R::store_words(front, R::compress(less, v));
        front += found;
        back -= kLanes - found;
        R::store_words(back, R::first_lanes(kLanes - found),
                       R::compress(static_cast<Mask>(~less), v));
      }
    }
    // Likewise of its first `lanes` lanes, for which alone there need be room.
    [[gnu::always_inline]] void put(Vector v, Vector pivots, int64_t lanes) {
      const Mask taken = R::first_lanes(lanes);
      const auto less = static_cast<Mask>(R::is_less(v, pivots) & taken);
      const auto found = static_cast<int64_t>(__builtin_popcount(less));
      R::store_words(front, R::first_lanes(found), R::compress(less, v));
      front += found;
      back -= lanes - found;
      R::store_words(back, R::first_lanes(lanes - found),
                     R::compress(static_cast<Mask>(~less & taken), v));
    }
    [[gnu::always_inline]] void put(Word word, Word pivot) {
      *front = word;
      back[-1] = word;
      front += word < pivot;
      back -= word >= pivot;
    }
    // Likewise of v, which is all that there is room for.
    [[gnu::always_inline]] void put_last(Vector v, Vector pivots) {
      const Mask less = R::is_less(v, pivots);
      R::store_words(front, R::parted(less, v));
      front += __builtin_popcount(less);
    }
  };

  // Puts what is less than the pivot first. Returns how many are.
  static int64_t partition(Word* words, int64_t count, Word pivot) {
    const Vector pivots = R::pivots(pivot);
    constexpr int64_t kStep = kUnrolled * kLanes;
    // What is read from either end makes room there; the first of both is kept in registers.
    Vector first[kUnrolled], last[kUnrolled];
#pragma GCC unroll 8
    for (int i = 0; i < kUnrolled; ++i) {
      first[i] = R::load_words(words + i * kLanes);
      last[i] = R::load_words(words + count - kStep + i * kLanes);
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
      Vector v[kUnrolled];
#pragma GCC unroll 8
      for (int i = 0; i < kUnrolled; ++i) v[i] = R::load_words(from + i * kLanes);
#pragma GCC unroll 8
      for (int i = 0; i < kUnrolled; ++i) places.put(v[i], pivots);
    }
    put_rest(places, begin, end - begin, first, last, pivot);
    return places.front - words;
  }

  // Less than kStep words at `begin`, and what is in registers.
  [[gnu::always_inline]] static void put_rest(Places& places, const Word* begin, int64_t rest,
                                              const Vector (&first)[kUnrolled],
                                              const Vector (&last)[kUnrolled], Word pivot) {
    const Vector pivots = R::pivots(pivot);
    if constexpr (R::kHasMasks) {
      Vector v[kUnrolled];
#pragma GCC unroll 8
      for (int i = 0; i < kUnrolled; ++i) {
        v[i] = R::load(begin + i * kLanes, lanes_of(rest, i), pivot);
      }
#pragma GCC unroll 8
      for (int i = 0; i < kUnrolled; ++i) places.put(first[i], pivots);
#pragma GCC unroll 8
      for (int i = 0; i < kUnrolled; ++i) places.put(last[i], pivots, kLanes);
#pragma GCC unroll 8
      for (int i = 0; i < kUnrolled; ++i) {
        const int64_t lanes = lanes_of(rest, i);
        if (lanes > 0) places.put(v[i], pivots, lanes);
      }
    } else {
      // These may lie where they would be written over.
      Word kept[kUnrolled * kLanes];
#pragma GCC unroll 8
      for (int i = 0; i < kUnrolled; ++i) {
        R::store(kept + i * kLanes, R::load(begin + i * kLanes, lanes_of(rest, i), pivot));
      }
      int64_t i = 0;
      for (; i + kLanes <= rest; i += kLanes) places.put(R::load_words(kept + i), pivots);
      for (; i < rest; ++i) places.put(kept[i], pivot);
#pragma GCC unroll 8
      for (int i = 0; i < kUnrolled; ++i) places.put(first[i], pivots);
#pragma GCC unroll 8
      for (int i = 0; i + 1 < kUnrolled; ++i) places.put(last[i], pivots);
      places.put_last(last[kUnrolled - 1], pivots);
    }
  }

  // Lanes of whose numbers this bit is set.
  static constexpr uint32_t lanes_with(int bit) {
    uint32_t mask = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      if ((lane & bit) != 0) mask |= 1u << lane;
    }
    return mask;
  }
  // Lane i of the result is lane i ^ kFlip.
  template <int kFlip>
  static Vector flipped(Vector v) {
    return flipped_lanes<kFlip>(v, std::make_integer_sequence<int, kLanes>());
  }
  template <int kFlip, int... kLane>
  static Vector flipped_lanes(Vector v, std::integer_sequence<int, kLane...>) {
    using Vectors = Lanes<Word, Word>;
    const auto x = reinterpret_cast<typename Vectors::Vector>(v);
    return reinterpret_cast<Vector>(shuffled<(kLane ^ kFlip)...>(x, x));
  }

  // By Batcher's odd-even merges.
  template <int kCount>
  [[gnu::always_inline]] static void sort_columns_of(Vector (&rows)[kCount]) {
    constexpr int kExchanges = kBatcher<kCount>.count;
    exchange_all(rows, std::make_integer_sequence<int, kExchanges>());
  }
  template <int kCount, int... kExchange>
  [[gnu::always_inline]] static void exchange_all(Vector (&rows)[kCount],
                                                  std::integer_sequence<int, kExchange...>) {
    (R::exchange(rows[kBatcher<kCount>.lesser[kExchange]],
                 rows[kBatcher<kCount>.greater[kExchange]]),
     ...);
  }
  // Groups of 2 * kHalf columns, of which each half is in order column by column, are put in order
  // by a bitonic merge.
  template <int kHalf, int kCount>
  [[gnu::always_inline]] static void merge_columns(Vector (&rows)[kCount]) {
    constexpr uint32_t kUpper = lanes_with(kHalf);
    constexpr int kMirror = 2 * kHalf - 1;
    if constexpr (kCount == 1) {
      const Vector other = flipped<kMirror>(rows[0]);
      rows[0] = R::template extreme<kUpper>(rows[0], other);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kCount / 2; ++i) {
      Vector &a = rows[i], &b = rows[kCount - 1 - i];
      Vector least = a, most = flipped<kMirror>(b);
      R::exchange(least, most);
      a = R::template blend<kUpper>(least, most);
      b = flipped<kMirror>(R::template blend<kUpper>(most, least));
    }
    if constexpr (kHalf >= 8) flip_merge<4>(rows);
    if constexpr (kHalf >= 4) flip_merge<2>(rows);
    if constexpr (kHalf >= 2) flip_merge<1>(rows);
    merge_rows<kCount / 2>(rows);
  }
  template <int kDistance, int kCount>
  [[gnu::always_inline]] static void merge_rows(Vector (&rows)[kCount]) {
    if constexpr (kDistance > 0) {
#pragma GCC unroll 16
      for (int i = 0; i < kCount / 2; ++i) {
        Vector* const lesser = rows + i + i / kDistance * kDistance;
        R::exchange(lesser[0], lesser[kDistance]);
      }
      merge_rows<kDistance / 2>(rows);
    }
  }
  template <int kDistance, int kCount>
  [[gnu::always_inline]] static void flip_merge(Vector (&rows)[kCount]) {
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      const Vector other = flipped<kDistance>(rows[i]);
      rows[i] = R::template extreme<lanes_with(kDistance)>(rows[i], other);
    }
  }

  template <int kCount>
  [[gnu::always_inline]] static void write(const Word* sorted, int64_t count, Word* words) {
    if constexpr (R::kHasMasks) {
#pragma GCC unroll 16
      for (int i = 0; i < kCount; ++i) {
        R::store_words(words + i * kLanes, R::first_lanes(lanes_of(count, i)),
                       R::load_words(sorted + i * kLanes));
      }
    } else {
      int64_t i = 0;
      for (; i + kLanes <= count; i += kLanes) R::store_words(words + i, R::load_words(sorted + i));
      for (; i < count; ++i) words[i] = sorted[i];
    }
  }

  template <int kCount>
  static void sort_rows(Word* words, int64_t count) {
    Vector rows[kCount];
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      rows[i] = R::load(words + i * kLanes, lanes_of(count, i), kLast);
    }
    sort_columns_of(rows);
    merge_columns<1>(rows);
    merge_columns<2>(rows);
    if constexpr (kLanes >= 8) merge_columns<4>(rows);
    if constexpr (kLanes >= 16) merge_columns<8>(rows);
    // Column by column.
    alignas(64) Word columns[kCount * kLanes], sorted[kCount * kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) R::store(columns + i * kLanes, rows[i]);
    transpose(columns, kLanes, kCount, kLanes, sorted, kCount);
    write<kCount>(sorted, count, words);
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
