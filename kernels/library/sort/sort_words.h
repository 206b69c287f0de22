// Unsigned integers in increasing order.
#ifndef SLUICE_KERNELS_LIBRARY_SORT_SORT_WORDS_H_
#define SLUICE_KERNELS_LIBRARY_SORT_SORT_WORDS_H_

#include <cstdint>

namespace sluice::kernels {

// An integer of 128 bits.
struct alignas(16) WideWord {
  uint64_t low, high;

  friend bool operator==(const WideWord&, const WideWord&) = default;
  friend bool operator<(const WideWord& a, const WideWord& b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
  }
};

// On the calling thread. Equal words are the same word, so that bits do not depend on how.
template <typename Word>
void sort_words(Word* words, int64_t count);

// Likewise, of words of at least 16 bits, by comparisons, and by a library's where there is one.
template <typename Word>
void sort_by_comparing(Word* words, int64_t count);

// Of more words than this it pays to have several threads sort them.
inline constexpr int64_t kLongSort = int64_t{1} << 17;

// Likewise on workers too: parts of the words are sorted side by side, then merged. `words` and
// `other` have room for `count` words each; the result is in the one that is returned.
template <typename Word>
Word* sort_long(Word* words, Word* other, int64_t count);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_SORT_SORT_WORDS_H_
