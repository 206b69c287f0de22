// Lines of few words: 16 of them are sorted side by side.
#ifndef SLUICE_KERNELS_LIBRARY_LOOPS_SHORT_LINES_H_
#define SLUICE_KERNELS_LIBRARY_LOOPS_SHORT_LINES_H_

#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/library/products/products_lanes.h"
#include "kernels/library/sort/sort_words.h"
#include "kernels/shuffled.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

// Lines that are read or sorted side by side.
inline constexpr int64_t kTile = 16;

// Squares of vectors of kLanes words.
template <typename Word>
struct Squares {
  using Vectors = Lanes<Word, Word>;
  using Vector = typename Vectors::Vector;
  static constexpr int kCount = Vectors::kCount;

  // Of the squares of kStep x kStep that a and b, kStep lines further down, have parts of, two
  // change places: those that a has on the right, and b on the left.
  template <int kStep, int... kLane>
  static void exchange_squares(Vector& a, Vector& b, std::integer_sequence<int, kLane...>) {
    const Vector old = a;
    a = shuffled<((kLane & kStep) != 0 ? kCount + kLane - kStep : kLane)...>(old, b);
    b = shuffled<((kLane & kStep) != 0 ? kCount + kLane : kLane + kStep)...>(old, b);
  }
  template <int kStep>
  static void exchange_all(Vector (&x)[kCount]) {
    if constexpr (kStep < kCount) {
#pragma GCC unroll 16
      for (int i = 0; i < kCount; ++i) {
        if ((i & kStep) != 0) continue;
        exchange_squares<kStep>(x[i], x[i + kStep], std::make_integer_sequence<int, kCount>());
      }
      exchange_all<2 * kStep>(x);
    }
  }
  // to[j][i] = from[i][j]
  static void transpose(const Word* from, int64_t from_stride, Word* to, int64_t to_stride) {
    Vector x[kCount];
    for (int i = 0; i < kCount; ++i) x[i] = Vectors::load_sums(from + i * from_stride);
    exchange_all<1>(x);
    for (int i = 0; i < kCount; ++i) {
      *reinterpret_cast<typename Vectors::Unaligned*>(to + i * to_stride) = x[i];
    }
  }
};

// to[j][i] = from[i][j]
template <typename Word>
void transpose(const Word* from, int64_t from_stride, int64_t rows, int64_t columns, Word* to,
               int64_t to_stride) {
  if constexpr (std::is_arithmetic_v<Word> && (sizeof(Word) == 4 || sizeof(Word) == 8)) {
    constexpr int64_t kCount = Squares<Word>::kCount;
    if (rows >= kCount && columns >= kCount) {
      // The last squares overlap with those before.
      for (int64_t i = 0; i < rows; i += kCount) {
        const int64_t row = i + kCount <= rows ? i : rows - kCount;
        for (int64_t j = 0; j < columns; j += kCount) {
          const int64_t column = j + kCount <= columns ? j : columns - kCount;
          Squares<Word>::transpose(from + row * from_stride + column, from_stride,
                                   to + column * to_stride + row, to_stride);
        }
      }
      return;
    }
  }
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) to[j * to_stride + i] = from[i * from_stride + j];
  }
}

template <typename Word>
void exchange(Word* __restrict a, Word* __restrict b) {
  for (int64_t j = 0; j < kTile; ++j) {
    const Word x = a[j], y = b[j];
    a[j] = y < x ? y : x;
    b[j] = y < x ? x : y;
  }
}

// Each of the kTile columns, by Batcher's odd-even merges: what is compared does not depend on the
// words.
template <typename Word>
void sort_columns(Word (*words)[kTile], int64_t length) {
  for (int64_t run = 1; run < length; run *= 2) {
    for (int64_t distance = run; distance > 0; distance /= 2) {
      for (int64_t pair = 0; pair < length; pair += 2 * run) {
        const int64_t end_of_pair = length < pair + 2 * run ? length : pair + 2 * run;
        for (int64_t begin = pair + distance % run; begin + distance < end_of_pair;
             begin += 2 * distance) {
          const int64_t end =
              begin + 2 * distance < end_of_pair ? begin + distance : end_of_pair - distance;
          for (int64_t i = begin; i < end; ++i) exchange(words[i], words[i + distance]);
        }
      }
    }
  }
}

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_LOOPS_SHORT_LINES_H_
