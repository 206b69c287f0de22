// Keys of 64 bits and positions in words of 64 bits, which are sorted in half the time of pairs.
#ifndef SLUICE_KERNELS_LIBRARY_LOOPS_PACKED_POSITIONS_H_
#define SLUICE_KERNELS_LIBRARY_LOOPS_PACKED_POSITIONS_H_

#include <cstdint>

#include "kernels/library/scratch.h"
#include "kernels/library/sort/sort_words.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

// The words of a line: how far a key is above the least of the line, as many of these bits as there
// is room for, and the position below them. Keys that differ only in what there was no room for are
// ties.
class PackedPositions {
 public:
  PackedPositions() = default;
  PackedPositions(int64_t length, uint64_t least_key, uint64_t greatest_key)
      : position_bits_(64 - __builtin_clzll(static_cast<uint64_t>(length) | 1)),
        shift_(__builtin_clzll((greatest_key - least_key) | 1)),
        least_key_(least_key) {}

  uint64_t word(uint64_t key, int64_t position) const {
    return (key - least_key_) << shift_ >> position_bits_ << position_bits_ |
           static_cast<uint64_t>(position);
  }
  int64_t position(uint64_t word) const {
    return static_cast<int64_t>(word & ((uint64_t{1} << position_bits_) - 1));
  }

  // Puts ties in order, when all words are. key_at(position): the whole key.
  template <typename KeyAt>
  void order_ties(uint64_t* words, int64_t count, KeyAt key_at) const {
    if (shift_ >= position_bits_) return;
    constexpr int64_t kBlock = 64;
    for (int64_t i = 1; i < count;) {
      if (count - i >= kBlock && !has_tie<kBlock>(words + i)) {
        i += kBlock;
      } else if (!are_ties(words[i - 1], words[i])) {
        ++i;
      } else {
        const int64_t first = i - 1;
        while (i < count && are_ties(words[first], words[i])) ++i;
        order(words + first, i - first, key_at);
      }
    }
  }

 private:
  bool are_ties(uint64_t a, uint64_t b) const { return (a ^ b) >> position_bits_ == 0; }
  // Of a word and that before it.
  template <int64_t kCount>
  bool has_tie(const uint64_t* words) const {
    uint64_t any = 0;
    for (int64_t i = 0; i < kCount; ++i) any |= are_ties(words[i - 1], words[i]);
    return any != 0;
  }
  template <typename KeyAt>
  void order(uint64_t* words, int64_t count, KeyAt key_at) const {
    if (count == 2) {
      // Without a branch, so that nothing waits for the keys, which are where no cache has them.
      const uint64_t first = words[0], second = words[1];
      const bool is_in_order = key_at(position(first)) <= key_at(position(second));
      words[0] = is_in_order ? first : second;
      words[1] = is_in_order ? second : first;
      return;
    }
    const Scratch scratch(sizeof(WideWord) * count);
    auto* const pairs = reinterpret_cast<WideWord*>(scratch.data());
    constexpr int64_t kFewTies = 16;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = position(words[i]);
      const WideWord pair{static_cast<uint64_t>(at), key_at(at)};
      int64_t place = i;
      if (count <= kFewTies) {
        for (; place > 0 && pair < pairs[place - 1]; --place) pairs[place] = pairs[place - 1];
      }
      pairs[place] = pair;
    }
    if (count > kFewTies) sort_words(pairs, count);
    const uint64_t key = words[0] >> position_bits_ << position_bits_;
    for (int64_t i = 0; i < count; ++i) words[i] = key | pairs[i].low;
  }

  int position_bits_ = 1;
  int shift_ = 0;
  uint64_t least_key_ = 0;
};

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_LOOPS_PACKED_POSITIONS_H_
