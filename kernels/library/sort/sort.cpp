// Sorts on the CPU.
//
// What is sorted is not the elements but words, of which no two different ones are equal: keys
// (keys.h), or keys with their positions below them. So every way to sort them gives the same bits,
// whatever the number of threads, and equal elements keep their order.
#include "fusion/library/sort.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/library/library.h"
#include "kernels/library/scratch.h"
#include "kernels/library/sort/keys.h"
#include "kernels/library/sort/sort_words.h"
#include "runtime/cpu/parallel.h"

namespace sluice::kernels {
namespace {

using fusion::SortAttributes;
using fusion::SortResult;

constexpr int64_t kGrain = 1 << 13;  // elements
// Lines that interleave in memory are read side by side, so many at a time.
constexpr int64_t kTile = 16;
// Lines of at most so many elements are sorted side by side, by a network: to call a library for
// each takes longer, unless these are few.
template <typename Word>
constexpr int64_t kShortLine = std::is_same_v<Word, WideWord> ? 16 : 64;
constexpr int64_t kFewLines = 4;
// Elements that are compared with the greatest of the first at a time; of them, if some are less.
constexpr int64_t kFiltered = 64, kFilteredOnce = 16;
// So few are kept in order as they are found.
constexpr int64_t kFew = 16;
// Of a line that is at least so many times as long the first are selected; else it is sorted.
constexpr int64_t kSelected = 4;

// Words of elements, and what a result has of a word.
template <typename OrderType>
struct Values {
  using Order = OrderType;
  using Bits = typename Order::Bits;
  using Word = Bits;
  using Out = Bits;
  static Word word(Bits bits, int64_t, Bits reverse) { return Order::key(bits, reverse); }
  static Out out(Word word, Bits reverse) { return Order::element(word, reverse); }
};

template <typename OrderType, typename WordType>
struct Positions {
  using Order = OrderType;
  using Bits = typename Order::Bits;
  using Word = WordType;
  using Out = int64_t;
  static constexpr bool kIsWide = std::is_same_v<Word, WideWord>;
  static Word word(Bits bits, int64_t position, Bits reverse) {
    const Bits key = Order::joined_key(bits, reverse);
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

template <typename Codec>
class Sort {
  using Order = typename Codec::Order;
  using Bits = typename Codec::Bits;
  using Word = typename Codec::Word;
  using Out = typename Codec::Out;

 public:
  Sort(const SortAttributes& attributes, absl::Span<void* const> buffers)
      : a_(attributes),
        reverse_(a_.descending ? std::numeric_limits<Bits>::max() : Bits{0}),
        x_(static_cast<const Bits*>(buffers[0]) + a_.offset),
        y_(static_cast<Out*>(buffers[1])) {}

  // Each line has elements, and a result.
  void run() const {
    const auto& lines = a_.lines;
    if (lines.length > kLongSort && lines.lines < num_threads()) {
      for (int64_t line = 0; line < lines.lines; ++line) {
        if (is_selected()) {
          select_long(line);
        } else {
          sort_long_line(line);
        }
      }
      return;
    }
    parallel_for(lines.lines, 1 + kGrain / lines.length, [&](int64_t line, int64_t end) {
      while (line < end) {
        int64_t count = 1;
        if (lines.length <= kShortLine<Word> && end - line >= kFewLines) {
          count = std::min(kTile, end - line);
          sort_short_lines(line, count);
        } else if (is_selected()) {
          select(line);
        } else {
          if (lines.inner > 1)
            count = std::min({kTile, lines.inner - line % lines.inner, end - line});
          sort_neighbours(line, count);
        }
        line += count;
      }
    });
  }

 private:
  bool is_selected() const { return a_.count <= a_.lines.length / kSelected && !kIsValues; }
  static constexpr bool kIsValues = std::is_same_v<Codec, Values<Order>>;
  // Whether words may lie where the result will.
  bool in_place() const {
    return a_.lines.inner == 1 && sizeof(Word) == sizeof(Out) && a_.count == a_.lines.length;
  }
  Out* line_of_y(int64_t line) const { return y_ + a_.lines.begin_of_y(line, a_.count); }

  // Lines [first, first + count), at most kTile, by Batcher's odd-even merges: what is compared
  // does not depend on the elements.
  void sort_short_lines(int64_t first, int64_t count) const {
    const int64_t length = a_.lines.length, stride = a_.lines.stride;
    const Bits* x[kTile];
    for (int64_t j = 0; j < kTile; ++j) {
      x[j] = x_ + a_.lines.begin_of_x(first + std::min(j, count - 1));
    }
    Word words[kShortLine<Word>][kTile];
    for (int64_t i = 0; i < length; ++i) {
      for (int64_t j = 0; j < kTile; ++j) words[i][j] = Codec::word(x[j][i * stride], i, reverse_);
    }
    for (int64_t run = 1; run < length; run *= 2) {
      for (int64_t distance = run; distance > 0; distance /= 2) {
        for (int64_t begin = distance % run; begin + distance < length; begin += 2 * distance) {
          const int64_t end = std::min(begin + distance, length - distance);
          for (int64_t i = begin; i < end; ++i) {
            if (i / (2 * run) != (i + distance) / (2 * run)) continue;
            exchange(words[i], words[i + distance]);
          }
        }
      }
    }
    for (int64_t j = 0; j < count; ++j) {
      Word line[kShortLine<Word>];
      for (int64_t i = 0; i < length; ++i) line[i] = words[i][j];
      restore_zeros(x[j], line);
      write(line, 0, a_.count, line_of_y(first + j));
    }
  }
  static void exchange(Word* __restrict a, Word* __restrict b) {
    for (int64_t j = 0; j < kTile; ++j) {
      const bool swaps = b[j] < a[j];
      const Word least = swaps ? b[j] : a[j], greatest = swaps ? a[j] : b[j];
      a[j] = least;
      b[j] = greatest;
    }
  }

  // Lines [first, first + count), which are neighbours in y.
  void sort_neighbours(int64_t first, int64_t count) const {
    const int64_t length = a_.lines.length, stride = a_.lines.stride;
    const Scratch scratch(in_place() ? 0 : sizeof(Word) * length * count);
    auto* const words =
        reinterpret_cast<Word*>(in_place() ? static_cast<void*>(line_of_y(first)) : scratch.data());
    const Bits* x[kTile];
    for (int64_t j = 0; j < count; ++j) x[j] = x_ + a_.lines.begin_of_x(first + j);
    if (count == 1) {
      read(x[0], 0, length, words);
    } else {
      for (int64_t i = 0; i < length; ++i) {
        for (int64_t j = 0; j < count; ++j) {
          words[j * length + i] = Codec::word(x[j][i * stride], i, reverse_);
        }
      }
    }
    for (int64_t j = 0; j < count; ++j) {
      sort_words(words + j * length, length);
      restore_zeros(x[j], words + j * length);
    }
    Out* const y = line_of_y(first);
    if (count == 1) {
      write(words, 0, a_.count, y);
    } else {
      for (int64_t i = 0; i < a_.count; ++i) {
        for (int64_t j = 0; j < count; ++j) {
          y[i * a_.lines.inner + j] = Codec::out(words[j * length + i], reverse_);
        }
      }
    }
  }

  // By all threads.
  void sort_long_line(int64_t line) const {
    const int64_t length = a_.lines.length;
    const Bits* const x = x_ + a_.lines.begin_of_x(line);
    Out* const y = line_of_y(line);
    const Scratch scratch(in_place() ? 0 : sizeof(Word) * length);
    const Scratch merged(num_threads() > 1 ? sizeof(Word) * length : 0);
    auto* words = reinterpret_cast<Word*>(in_place() ? static_cast<void*>(y) : scratch.data());
    parallel_for(length, kGrain,
                 [&](int64_t begin, int64_t end) { read(x, begin, end, words + begin); });
    words = sort_long(words, reinterpret_cast<Word*>(merged.data()), length);
    restore_zeros(x, words);
    parallel_for(a_.count, kGrain,
                 [&](int64_t begin, int64_t end) { write(words, begin, end, y); });
  }

  // The words of elements [begin, end) of a line.
  void read(const Bits* x, int64_t begin, int64_t end, Word* words) const {
    const int64_t stride = a_.lines.stride;
    if (stride == 1) {
      for (int64_t i = begin; i < end; ++i) words[i - begin] = Codec::word(x[i], i, reverse_);
    } else {
      for (int64_t i = begin; i < end; ++i) {
        words[i - begin] = Codec::word(x[i * stride], i, reverse_);
      }
    }
  }
  // Elements [begin, end) of a line's result. y may be where the words are.
  void write(const Word* words, int64_t begin, int64_t end, Out* y) const {
    const int64_t inner = a_.lines.inner;
    if (inner == 1) {
      for (int64_t i = begin; i < end; ++i) y[i] = Codec::out(words[i], reverse_);
    } else {
      for (int64_t i = begin; i < end; ++i) y[i * inner] = Codec::out(words[i], reverse_);
    }
  }

  // Sorted as keys, -0 and 0 are apart. If a line has both they take the order they have in it.
  void restore_zeros(const Bits* x, Word* words) const {
    if constexpr (kIsValues && Order::kHasZeros) {
      const Bits a = Order::key(0, reverse_), b = Order::key(Order::kSign, reverse_);
      const int64_t length = a_.lines.length;
      Word* const first = std::lower_bound(words, words + length, std::min(a, b));
      Word* const second = std::lower_bound(first, words + length, std::max(a, b));
      if (first == second || second == words + length || *second != std::max(a, b)) return;
      Word* next = first;
      for (int64_t i = 0; i < length; ++i) {
        const Bits bits = x[i * a_.lines.stride];
        if (bits == 0 || bits == Order::kSign) *next++ = Order::key(bits, reverse_);
      }
    }
  }

  // How many words find_first() needs.
  int64_t room() const { return 2 * a_.count + 4 * kFiltered; }

  // Calls f(i) for elements [begin, end) of a line, in order, but not for runs of them that are all
  // greater than limit().
  template <typename Limit, typename F>
  void for_each_candidate(const Bits* x, int64_t begin, int64_t end, Limit limit, F f) const {
    for (int64_t i = begin; i < end; i += kFiltered) {
      const int64_t tried = std::min(end, i + kFiltered);
      if (!any_up_to<kFiltered>(limit(), x, i, tried)) continue;
      for (int64_t j = i; j < tried; j += kFilteredOnce) {
        const int64_t last = std::min(tried, j + kFilteredOnce);
        if (!any_up_to<kFilteredOnce>(limit(), x, j, last)) continue;
        for (int64_t element = j; element < last; ++element) f(element);
      }
    }
  }

  // find_first(), of few.
  int64_t find_few(const Bits* x, int64_t begin, int64_t end, Word* found) const {
    const int64_t count = std::min(a_.count, end - begin);
    const auto insert = [&](Word word, int64_t place) {
      for (; place > 0 && word < found[place - 1]; --place) found[place] = found[place - 1];
      found[place] = word;
    };
    const auto word_of = [&](int64_t i) {
      return Codec::word(x[i * a_.lines.stride], i, reverse_);
    };
    for (int64_t i = 0; i < count; ++i) insert(word_of(begin + i), i);
    for_each_candidate(
        x, begin + count, end, [&] { return Codec::key(found[count - 1]); },
        [&](int64_t i) {
          const Word word = word_of(i);
          if (word < found[count - 1]) insert(word, count - 1);
        });
    return count;
  }

  // The least a_.count words of elements [begin, end) of a line, or all if there are fewer; sorted.
  // Returns how many.
  int64_t find_first(const Bits* x, int64_t begin, int64_t end, Word* found) const {
    if constexpr (!kIsValues) {
      if (a_.count <= kFew) return find_few(x, begin, end, found);
    }
    int64_t count = std::min(room(), end - begin);
    read(x, begin, begin + count, found);
    sort_words(found, count);
    if constexpr (!kIsValues) {
      int64_t i = begin + count;
      count = std::min(count, a_.count);
      while (i < end) {
        // Beyond `count` there are words that came later.
        const Word limit = found[a_.count - 1];
        const Bits limit_key = Codec::key(limit);
        int64_t more = count;
        for (; i < end && more + kFiltered <= room(); i += kFiltered) {
          const int64_t tried = std::min(kFiltered, end - i);
          if (!any_up_to<kFiltered>(limit_key, x, i, i + tried)) continue;
          for (int64_t j = i; j < i + tried; ++j) {
            found[more] = Codec::word(x[j * a_.lines.stride], j, reverse_);
            more += found[more] < limit;
          }
        }
        sort_words(found, more);
      }
    }
    return std::min(count, a_.count);
  }
  // Whether any key of elements [begin, end), mostly kCount of them, is at most `limit`.
  template <int64_t kCount>
  bool any_up_to(Bits limit, const Bits* x, int64_t begin, int64_t end) const {
    const int64_t stride = a_.lines.stride;
    x += begin * stride;
    int any = 0;
    if (stride == 1 && end - begin == kCount) {
      for (int64_t i = 0; i < kCount; ++i) any |= Order::joined_key(x[i], reverse_) <= limit;
    } else {
      for (int64_t i = 0; i < end - begin; ++i) {
        any |= Order::joined_key(x[i * stride], reverse_) <= limit;
      }
    }
    return any != 0;
  }

  void select(int64_t line) const {
    const Scratch scratch(sizeof(Word) * room());
    auto* const found = reinterpret_cast<Word*>(scratch.data());
    find_first(x_ + a_.lines.begin_of_x(line), 0, a_.lines.length, found);
    write(found, 0, a_.count, line_of_y(line));
  }

  // By all threads: each finds the first of a part, then these are sorted.
  void select_long(int64_t line) const {
    const int64_t length = a_.lines.length;
    const int64_t parts =
        std::clamp<int64_t>(length / (kLongSort / 2 + 16 * a_.count), 1, num_threads());
    const Scratch scratch(sizeof(Word) * room() * parts);
    auto* const words = reinterpret_cast<Word*>(scratch.data());
    const Bits* const x = x_ + a_.lines.begin_of_x(line);
    parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        find_first(x, length * part / parts, length * (part + 1) / parts, words + part * room());
      }
    });
    // Each part is longer than the result.
    for (int64_t part = 1; part < parts; ++part) {
      std::copy_n(words + part * room(), a_.count, words + part * a_.count);
    }
    if (parts > 1) sort_words(words, parts * a_.count);
    write(words, 0, a_.count, line_of_y(line));
  }

  const SortAttributes& a_;
  const Bits reverse_;
  const Bits* const x_;
  Out* const y_;
};

}  // namespace

absl::Status run_sort(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  const SortAttributes& attributes = fusion::sort_of(call);
  if (attributes.lines.lines == 0 || attributes.count == 0) return absl::OkStatus();
  visit_order(attributes.dtype, [&]<typename Order>() {
    using Bits = typename Order::Bits;
    if (attributes.result == SortResult::kValues) {
      Sort<Values<Order>>(attributes, buffers).run();
    } else if (sizeof(Bits) == 8 ||
               attributes.lines.length > std::numeric_limits<uint32_t>::max()) {
      Sort<Positions<Order, WideWord>>(attributes, buffers).run();
    } else if constexpr (sizeof(Bits) < 8) {
      Sort<Positions<Order, uint64_t>>(attributes, buffers).run();
    }
  });
  return absl::OkStatus();
}

}  // namespace sluice::kernels
