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
        for_each_up_to(limit_key, x, i, least(end, i + kFiltered), [&](int64_t element) {
          found[more] = word_of(x, element);
          more += found[more] < limit;
        });
      }
      sort_words(found, more);
    }
    return count;
  }

 private:
  Word word_of(const Bits* x, int64_t i) const { return Codec::word(x[i * stride_], i, flip_); }

  // Calls f(i), in order, for those of elements [begin, end) of a line, at most kFiltered, whose
  // keys are at most `limit`.
  template <typename F>
  void for_each_up_to(Bits limit, const Bits* x, int64_t begin, int64_t end, F f) const {
    if (end - begin == kFiltered && !any_up_to(limit, x, begin)) return;
    for (int64_t i = begin; i < end; i += kFilteredOnce) {
      uint32_t found = which_up_to(limit, x, i, least(end, i + kFilteredOnce));
      for (; found != 0; found &= found - 1) f(i + __builtin_ctz(found));
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
    // Without a library's sort, which takes longer than all else here.
    Bits first[kFew];
    for (int64_t j = 0; j < kParts; ++j) insert(first, least(j, count_), least_keys[j], count_);
    return first[count_ - 1];
  }

  // find_first(), of few.
  int64_t find_few(const Bits* x, int64_t begin, int64_t end, Word* found) const {
    const int64_t count = least(count_, end - begin);
    for (int64_t i = 0; i < count; ++i) insert(found, i, word_of(x, begin + i), count);
    const Bits limit = limit_of_few(x, begin, end);
    for (int64_t i = begin + count; i < end; i += kFiltered) {
      const Bits last = Codec::key(found[count - 1]);
      for_each_up_to(least_of(last, limit), x, i, least(end, i + kFiltered),
                     [&](int64_t element) { insert(found, count, word_of(x, element), count); });
    }
    return count;
  }

  static Bits least_of(Bits a, Bits b) { return a < b ? a : b; }

  // Puts one more into `first`, which are `count` in order; at most `most` of them stay.
  template <typename Ordered>
  static void insert(Ordered* first, int64_t count, Ordered one, int64_t most) {
    if (count == most && !(one < first[--count])) return;
    for (; count > 0 && one < first[count - 1]; --count) first[count] = first[count - 1];
    first[count] = one;
  }

  // Whether any key of kFiltered elements is at most `limit`.
  bool any_up_to(Bits limit, const Bits* x, int64_t begin) const {
    x += begin * stride_;
    int any = 0;
    if (stride_ == 1) {
      for (int64_t i = 0; i < kFiltered; ++i) any |= Order::joined_key(x[i], flip_) <= limit;
    } else {
      for (int64_t i = 0; i < kFiltered; ++i) {
        any |= Order::joined_key(x[i * stride_], flip_) <= limit;
      }
    }
    return any != 0;
  }
  // Of elements [begin, end), at most kFilteredOnce, a bit each: whether its key is.
  uint32_t which_up_to(Bits limit, const Bits* x, int64_t begin, int64_t end) const {
    x += begin * stride_;
    uint32_t which = 0;
    if (stride_ == 1 && end - begin == kFilteredOnce) {
#pragma GCC unroll 1  // which would come before vectors do
      for (int i = 0; i < kFilteredOnce; ++i) {
        which |= uint32_t{Order::joined_key(x[i], flip_) <= limit} << i;
      }
    } else {
      for (int64_t i = 0; i < end - begin; ++i) {
        which |= uint32_t{Order::joined_key(x[i * stride_], flip_) <= limit} << i;
      }
    }
    return which;
  }

  const int64_t count_, stride_;
  const Bits flip_;
};

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_LOOPS_SELECTION_H_
