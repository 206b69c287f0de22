// The first words of a line in order, without sorting the line.
#ifndef SLUICE_KERNELS_LIBRARY_LOOPS_SELECTION_H_
#define SLUICE_KERNELS_LIBRARY_LOOPS_SELECTION_H_

#include <cstdint>
#include <limits>

#include "kernels/library/sort/sort_words.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

// Elements that are compared with the greatest of the first at a time; of them, if some are less.
inline constexpr int64_t kFiltered = 64, kFilteredOnce = 16;
// So few are kept in order as they are found.
inline constexpr int64_t kFew = 16;
// Then they are compared with a limit of so many parts of a line, of so many of its elements.
inline constexpr int64_t kParts = 64, kFewestOfParts = 256, kMostOfParts = 4096;
static_assert(kParts >= kFew);

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Of lines whose elements are `stride` apart, `count` words: keys with positions (words.h).
template <typename Codec>
class Selection {
  using Order = typename Codec::Order;
  using Bits = typename Codec::Bits;
  using Word = typename Codec::Word;

 public:
  Selection(int64_t count, int64_t stride, Bits flip)
      : count_(count), stride_(stride), flip_(flip) {}

  // How many words find_first() needs.
  int64_t room() const { return 2 * count_ + 4 * kFiltered; }

  // The least count_ words of elements [begin, end) of a line, or all if there are fewer; sorted.
  // Returns how many.
  int64_t find_first(const Bits* x, int64_t begin, int64_t end, Word* found) const {
    if (count_ <= kFew) return find_few(x, begin, end, found);
    int64_t count = least(room(), end - begin);
    for (int64_t i = 0; i < count; ++i) found[i] = word_of(x, begin + i);
    sort_words(found, count);
    int64_t i = begin + count;
    count = least(count, count_);
    while (i < end) {
      // Beyond `count` there are words that came later.
      const Word limit = found[count_ - 1];
      const Bits limit_key = Codec::key(limit);
      int64_t more = count;
      for (; i < end && more + kFiltered <= room(); i += kFiltered) {
        const int64_t tried = least(kFiltered, end - i);
        if (!any_up_to<kFiltered>(limit_key, x, i, i + tried)) continue;
        for (int64_t j = i; j < i + tried; ++j) {
          found[more] = word_of(x, j);
          more += found[more] < limit;
        }
      }
      sort_words(found, more);
    }
    return count;
  }

 private:
  Word word_of(const Bits* x, int64_t i) const { return Codec::word(x[i * stride_], i, flip_); }

  // Calls f(i) for elements [begin, end) of a line, in order, but not for runs of them that are all
  // greater than limit().
  template <typename Limit, typename F>
  void for_each_candidate(const Bits* x, int64_t begin, int64_t end, Limit limit, F f) const {
    for (int64_t i = begin; i < end; i += kFiltered) {
      const int64_t tried = least(end, i + kFiltered);
      if (!any_up_to<kFiltered>(limit(), x, i, tried)) continue;
      for (int64_t j = i; j < tried; j += kFilteredOnce) {
        const int64_t last = least(tried, j + kFilteredOnce);
        if (!any_up_to<kFilteredOnce>(limit(), x, j, last)) continue;
        for (int64_t element = j; element < last; ++element) f(element);
      }
    }
  }

  // What none of the first count_ keys of elements [begin, end) exceeds: of several interleaved
  // parts of them, and nothing more, the least keys.
  Bits limit_of_few(const Bits* x, int64_t begin, int64_t end) const {
    constexpr Bits kLast = std::numeric_limits<Bits>::max();
    if (stride_ != 1 || end - begin < kFewestOfParts) return kLast;
    Bits least_keys[kParts];
    for (int64_t j = 0; j < kParts; ++j) least_keys[j] = kLast;
    const int64_t last = least(end, begin + kMostOfParts) - kParts;
    for (int64_t i = begin; i <= last; i += kParts) {
      for (int64_t j = 0; j < kParts; ++j) {
        const Bits key = Order::joined_key(x[i + j], flip_);
        least_keys[j] = key < least_keys[j] ? key : least_keys[j];
      }
    }
    sort_words(least_keys, kParts);
    return least_keys[count_ - 1];
  }

  // find_first(), of few.
  int64_t find_few(const Bits* x, int64_t begin, int64_t end, Word* found) const {
    const int64_t count = least(count_, end - begin);
    const auto insert = [&](Word word, int64_t place) {
      for (; place > 0 && word < found[place - 1]; --place) found[place] = found[place - 1];
      found[place] = word;
    };
    for (int64_t i = 0; i < count; ++i) insert(word_of(x, begin + i), i);
    const Bits limit = limit_of_few(x, begin, end);
    for_each_candidate(
        x, begin + count, end,
        [&] {
          const Bits last = Codec::key(found[count - 1]);
          return last < limit ? last : limit;
        },
        [&](int64_t i) {
          const Word word = word_of(x, i);
          if (word < found[count - 1]) insert(word, count - 1);
        });
    return count;
  }

  // Whether any key of elements [begin, end), mostly kCount of them, is at most `limit`.
  template <int64_t kCount>
  bool any_up_to(Bits limit, const Bits* x, int64_t begin, int64_t end) const {
    x += begin * stride_;
    int any = 0;
    if (stride_ == 1 && end - begin == kCount) {
      for (int64_t i = 0; i < kCount; ++i) any |= Order::joined_key(x[i], flip_) <= limit;
    } else {
      for (int64_t i = 0; i < end - begin; ++i) {
        any |= Order::joined_key(x[i * stride_], flip_) <= limit;
      }
    }
    return any != 0;
  }

  const int64_t count_, stride_;
  const Bits flip_;
};

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_LOOPS_SELECTION_H_
