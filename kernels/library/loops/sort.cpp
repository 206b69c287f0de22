// Sorts on the CPU, of words (words.h).
#include "fusion/library/sort.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/library/loops/keys.h"
#include "kernels/library/loops/loops.h"
#include "kernels/library/loops/packed_positions.h"
#include "kernels/library/loops/selection.h"
#include "kernels/library/loops/short_lines.h"
#include "kernels/library/loops/words.h"
#include "kernels/library/scratch.h"
#include "kernels/library/sort/sort_words.h"
#include "runtime/cpu/parallel.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {
namespace {

using fusion::SortAttributes;
using fusion::SortResult;

constexpr int64_t kGrain = 1 << 13;  // elements
// Lines of at most so many elements are sorted side by side, by a network: to call a library for
// each takes longer, unless these are few.
template <typename Word>
constexpr int64_t kShortLine = std::is_same_v<Word, WideWord> ? 16 : 64;
constexpr int64_t kFewLines = 4;
// Of a line that is at least so many times as long the first are selected; else it is sorted.
constexpr int64_t kSelected = 4;
constexpr int64_t kShortSelected = 64;

bool is_selection(const SortAttributes& a) {
  return a.result != SortResult::kValues && a.count <= a.lines.length / kSelected;
}

template <typename Codec>
class Sort {
  using Order = typename Codec::Order;
  using Bits = typename Codec::Bits;
  using Word = typename Codec::Word;
  using Out = typename Codec::Out;

 public:
  Sort(const SortAttributes& attributes, void* const* buffers)
      : a_(attributes),
        flip_(flip_of<Bits>(a_.dtype, a_.descending)),
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
          count = least(kTile, end - line);
          sort_short_lines(line, count);
        } else if (is_selected()) {
          select(line);
        } else {
          if (lines.inner > 1)
            count = least(least(kTile, lines.inner - line % lines.inner), end - line);
          sort_neighbours(line, count);
        }
        line += count;
      }
    });
  }

 private:
  static constexpr bool kIsValues = std::is_same_v<Codec, Values<Order>>;
  static constexpr bool kPacks = std::is_same_v<Codec, Packed<Order>>;
  static constexpr bool kSelects = !kIsValues && !kPacks;
  bool is_selected() const { return kSelects && is_selection(a_); }
  static constexpr bool kRestoresZeros = kIsValues && Order::kHasZeros;
  // Whether words may lie where the result will.
  bool in_place() const {
    return a_.lines.inner == 1 && sizeof(Word) == sizeof(Out) && a_.count == a_.lines.length;
  }
  Out* line_of_y(int64_t line) const { return y_ + a_.lines.begin_of_y(line, a_.count); }

  // Lines [first, first + count), at most kTile.
  void sort_short_lines(int64_t first, int64_t count) const {
    constexpr int64_t kMost = kShortLine<Word>;
    const int64_t length = a_.lines.length;
    alignas(64) Word lines[kTile][kMost];
    alignas(64) Word words[kMost][kTile];
    const Bits* x[kTile];
    bool has_zeros[kTile];
    for (int64_t j = 0; j < kTile; ++j) {
      x[j] = x_ + a_.lines.begin_of_x(first + least(j, count - 1));
      has_zeros[j] = read(x[j], 0, length, lines[j]);
    }
    PackedPositions packings[kPacks ? kTile : 1];
    if constexpr (kPacks) {
      for (int64_t j = 0; j < kTile; ++j) packings[j] = pack(lines[j]);
    }
    transpose(lines[0], kMost, kTile, length, words[0], kTile);
    sort_columns(words, length);
    transpose(words[0], kTile, length, kTile, lines[0], kMost);
    for (int64_t j = 0; j < count; ++j) {
      if constexpr (kPacks) unpack(packings[j], x[j], lines[j]);
      if (has_zeros[j]) restore_zeros(x[j], lines[j]);
      write(lines[j], 0, a_.count, line_of_y(first + j));
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
    bool has_zeros = true;
    if (count == 1) {
      has_zeros = read(x[0], 0, length, words);
    } else {
      for (int64_t i = 0; i < length; ++i) {
        for (int64_t j = 0; j < count; ++j) {
          words[j * length + i] = Codec::word(x[j][i * stride], i, flip_);
        }
      }
    }
    for (int64_t j = 0; j < count; ++j) {
      Word* const line = words + j * length;
      if constexpr (kPacks) {
        const PackedPositions packing = pack(line);
        sort_words(line, length);
        unpack(packing, x[j], line);
      } else {
        sort_words(line, length);
        if (has_zeros) restore_zeros(x[j], line);
      }
    }
    Out* const y = line_of_y(first);
    if (count == 1) {
      write(words, 0, a_.count, y);
    } else {
      for (int64_t i = 0; i < a_.count; ++i) {
        for (int64_t j = 0; j < count; ++j) {
          y[i * a_.lines.inner + j] = Codec::out(words[j * length + i], flip_);
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
    auto* const other = reinterpret_cast<Word*>(merged.data());
    if constexpr (kPacks) {
      const PackedPositions packing = pack(words);
      words = sort_long(words, other, length);
      unpack(packing, x, words);
    } else {
      words = sort_long(words, other, length);
      restore_zeros(x, words);
    }
    parallel_for(a_.count, kGrain,
                 [&](int64_t begin, int64_t end) { write(words, begin, end, y); });
  }

  // Of a line whose words are keys; by all threads if it is long.
  PackedPositions pack(uint64_t* words) const {
    const int64_t length = a_.lines.length;
    uint64_t most = words[0], most_inverted = ~words[0];
    parallel_for(length, kGrain, [&](int64_t begin, int64_t end) {
      uint64_t low = words[begin], high = words[begin];
      for (int64_t i = begin; i < end; ++i) {
        low = words[i] < low ? words[i] : low;
        high = words[i] > high ? words[i] : high;
      }
      raise(most, high);
      raise(most_inverted, ~low);
    });
    const PackedPositions packing(length, ~most_inverted, most);
    parallel_for(length, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) words[i] = packing.word(words[i], i);
    });
    return packing;
  }
  // On several threads at a time.
  static void raise(uint64_t& most, uint64_t value) {
    uint64_t known = __atomic_load_n(&most, __ATOMIC_RELAXED);
    while (known < value && !__atomic_compare_exchange_n(&most, &known, value, false,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
  }
  // Makes positions of the sorted words.
  void unpack(const PackedPositions& packing, const Bits* x, uint64_t* words) const {
    const int64_t length = a_.lines.length;
    packing.order_ties(words, length, [&](int64_t position) {
      return uint64_t{Order::joined_key(x[position * a_.lines.stride], flip_)};
    });
    parallel_for(a_.count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        words[i] = static_cast<uint64_t>(packing.position(words[i]));
      }
    });
  }

  // The words of elements [begin, end) of a line. Returns whether restore_zeros() may have to be
  // called: there are zeros below 0.
  bool read(const Bits* x, int64_t begin, int64_t end, Word* words) const {
    const int64_t stride = a_.lines.stride;
    Bits any = 0;
    const auto read_one = [&](int64_t i, Bits bits) {
      words[i - begin] = Codec::word(bits, i, flip_);
      if constexpr (kRestoresZeros) any |= bits == Order::kSign;
    };
    if (stride == 1) {
      for (int64_t i = begin; i < end; ++i) read_one(i, x[i]);
    } else {
      for (int64_t i = begin; i < end; ++i) read_one(i, x[i * stride]);
    }
    return any != 0;
  }
  // Elements [begin, end) of a line's result. y may be where the words are.
  void write(const Word* words, int64_t begin, int64_t end, Out* y) const {
    const int64_t inner = a_.lines.inner;
    if (inner == 1) {
      for (int64_t i = begin; i < end; ++i) y[i] = Codec::out(words[i], flip_);
    } else {
      for (int64_t i = begin; i < end; ++i) y[i * inner] = Codec::out(words[i], flip_);
    }
  }

  // Sorted as keys, -0 and 0 are apart. If a line has both they take the order they have in it.
  void restore_zeros(const Bits* x, Word* words) const {
    if constexpr (kRestoresZeros) {
      const Bits zero = Order::key(0, flip_), other = Order::key(Order::kSign, flip_);
      const Bits lesser = zero < other ? zero : other, greater = zero < other ? other : zero;
      const int64_t length = a_.lines.length;
      Word* const first = lower_bound(words, words + length, lesser);
      Word* const second = lower_bound(first, words + length, greater);
      if (first == second || second == words + length || *second != greater) return;
      Word* next = first;
      for (int64_t i = 0; i < length; ++i) {
        const Bits bits = x[i * a_.lines.stride];
        if (bits == 0 || bits == Order::kSign) *next++ = Order::key(bits, flip_);
      }
    }
  }

  static Word* lower_bound(Word* first, Word* last, Word word) {
    while (first < last) {
      Word* const middle = first + (last - first) / 2;
      if (*middle < word) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  }

  void select(int64_t line) const {
    if constexpr (kSelects) {
      const Selection<Codec> selection(a_.count, a_.lines.stride, flip_);
      const Scratch scratch(sizeof(Word) * selection.room());
      auto* const found = reinterpret_cast<Word*>(scratch.data());
      selection.find_first(x_ + a_.lines.begin_of_x(line), 0, a_.lines.length, found);
      write(found, 0, a_.count, line_of_y(line));
    }
  }

  // By all threads: each finds the first of a part, then these are sorted.
  void select_long(int64_t line) const {
    if constexpr (kSelects) {
      const Selection<Codec> selection(a_.count, a_.lines.stride, flip_);
      const int64_t length = a_.lines.length, room = selection.room();
      const int64_t wanted = length / (kLongSort / 2 + 16 * a_.count);
      const int64_t parts = least(wanted < 1 ? 1 : wanted, num_threads());
      const Scratch scratch(sizeof(Word) * room * parts);
      auto* const words = reinterpret_cast<Word*>(scratch.data());
      const Bits* const x = x_ + a_.lines.begin_of_x(line);
      parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) {
          selection.find_first(x, length * part / parts, length * (part + 1) / parts,
                               words + part * room);
        }
      });
      // Each part is longer than the result.
      for (int64_t part = 1; part < parts; ++part) {
        std::memmove(words + part * a_.count, words + part * room, sizeof(Word) * a_.count);
      }
      if (parts > 1) sort_words(words, parts * a_.count);
      write(words, 0, a_.count, line_of_y(line));
    }
  }

  const SortAttributes& a_;
  const Bits flip_;
  const Bits* const x_;
  Out* const y_;
};

void sort(const SortAttributes& attributes, void* const* buffers) {
  if (attributes.lines.lines == 0 || attributes.count == 0) return;
  visit_order(attributes.dtype, [&]<typename Order>() {
    using Bits = typename Order::Bits;
    if (attributes.result == SortResult::kValues) {
      return Sort<Values<Order>>(attributes, buffers).run();
    }
    if constexpr (sizeof(Bits) == 8) {
      // Short lines are sorted side by side in less time than a few words are found in each.
      const auto& lines = attributes.lines;
      const bool is_short = lines.length <= kShortSelected && lines.lines >= kFewLines;
      if (is_short || !is_selection(attributes)) {
        return Sort<Packed<Order>>(attributes, buffers).run();
      }
    } else if (attributes.lines.length <= std::numeric_limits<uint32_t>::max()) {
      return Sort<Positions<Order, uint64_t>>(attributes, buffers).run();
    }
    Sort<Positions<Order, WideWord>>(attributes, buffers).run();
  });
}

}  // namespace

void fill_sort(LibraryLoops& table) { table.sort = sort; }

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE
