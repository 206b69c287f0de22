// Words of elements: what is sorted.
//
// They are keys (keys.h), or keys with their positions below them: no two different ones are equal.
// So every way to sort them gives the same bits, whatever the number of threads, and equal elements
// keep their order.
#ifndef SLUICE_KERNELS_LIBRARY_LOOPS_WORDS_H_
#define SLUICE_KERNELS_LIBRARY_LOOPS_WORDS_H_

#include <cstdint>
#include <type_traits>

#include "kernels/library/loops/keys.h"
#include "kernels/library/sort/sort_words.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

// Words of elements, and what a result has of a word.
template <typename OrderType>
struct Values {
  using Order = OrderType;
  using Bits = typename Order::Bits;
  using Word = Bits;
  using Out = Bits;
  static Word word(Bits bits, int64_t, Bits flip) { return Order::key(bits, flip); }
  static Out out(Word word, Bits flip) { return Order::element(word, flip); }
};

template <typename OrderType, typename WordType>
struct Positions {
  using Order = OrderType;
  using Bits = typename Order::Bits;
  using Word = WordType;
  using Out = int64_t;
  static constexpr bool kIsWide = std::is_same_v<Word, WideWord>;
  static Word word(Bits bits, int64_t position, Bits flip) {
    const Bits key = Order::joined_key(bits, flip);
    const auto low = static_cast<uint64_t>(position);
    if constexpr (kIsWide) {
      return {low, key};
    } else {
      return uint64_t{key} << 32 | low;
    }
  }
  static Out out(Word word, Bits) {
    if constexpr (kIsWide) {
      return static_cast<int64_t>(word.low);
    } else {
      return static_cast<int64_t>(word & 0xffffffff);
    }
  }
  static Bits key(Word word) {
    if constexpr (kIsWide) {
      return static_cast<Bits>(word.high);
    } else {
      return static_cast<Bits>(word >> 32);
    }
  }
};

// Keys of 64 bits, which packed_positions.h then joins with positions; and these when it is done.
template <typename OrderType>
struct Packed {
  using Order = OrderType;
  using Bits = typename Order::Bits;
  using Word = uint64_t;
  using Out = int64_t;
  static Word word(Bits bits, int64_t, Bits flip) { return Order::joined_key(bits, flip); }
  static Out out(Word word, Bits) { return static_cast<int64_t>(word); }
};

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_LOOPS_WORDS_H_
