// The kernels of selections (select.h), as source.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_SELECT_TEXT_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_SELECT_TEXT_H_

namespace sluice::kernels::cuda {

// After the texts of lines and orders, and kMaxPasses and kCandidates.
inline constexpr const char* kSelectText = R"sluice(
// ---- Selections. kernels/cuda/library/select.cpp fills in sl_select.

constexpr int kDigitBits = 11, kDigits = 1 << kDigitBits;

// Elements of which a number of digits is known: those of the key, then those of the position.
struct sl_range {
  sl_u64 key;
  sl_u32 at;              // with it, the digits; others are 0
  sl_i32 digits;          // how many there are
  sl_u32 before, inside;  // how many elements are less, and how many have these digits
};
struct sl_candidate {
  sl_u64 key;
  sl_u32 at;
};
// Of a line.
struct sl_selection {
  sl_u32 counts[kMaxPasses][kDigits];  // zeroed
  sl_u32 found;                        // zeroed
  sl_range ranges[kMaxPasses];         // in which each pass counts digits
  sl_candidate candidates[kCandidates];
};

struct sl_select : sl_lines {
  sl_u64 reverse;
  sl_i64 count;        // of a line of y
  sl_i64 part, parts;  // the elements of a block, and how many of them a line has
  sl_i64 passes, pass;
  sl_i64 position_bits;
  sl_selection* selections;  // of the lines
  sl_i64 first_block;
};

// A zeroed word a thread.
SL_INLINE void sl_select_clear(const sl_select& p) {
  constexpr int kWords = kMaxPasses * kDigits + 1;
  const sl_i64 i = (p.first_block + sl_block()) * SL_THREADS + sl_thread();
  if (i < p.lines * kWords) ((sl_u32*)(p.selections + i / kWords))[i % kWords] = 0;
}

template <bool kIsWide> struct sl_key_word { typedef sl_u32 Type; };
template <> struct sl_key_word<true> { typedef sl_u64 Type; };

// A part of a line.
template <typename Order>
struct sl_selector {
  typedef typename Order::Bits Bits;
  typedef typename sl_key_word<(sizeof(Bits) > 4)>::Type Key;
  static constexpr int kKeyBits = 8 * sizeof(Bits);
  static constexpr int kKeyDigits = (kKeyBits + kDigitBits - 1) / kDigitBits;
  static constexpr int kItems = 8;
  struct Shared {
    sl_sums sums;
    sl_range range;
  };
  const sl_select& p;
  const sl_i64 part, number;
  sl_selection& selection;
  const Bits* const x;
  sl_range range;

  SL_INLINE explicit sl_selector(const sl_select& p)
      : p(p),
        part((p.first_block + sl_block()) % p.parts),
        number((p.first_block + sl_block()) / p.parts),
        selection(p.selections[number]),
        x(sl_line<Bits>(p, number).x) {}

  // Of the digits after so many.
  SL_INLINE int key_bits_after(int digits) const {
    return digits < kKeyDigits ? kKeyBits - digits * kDigitBits : 0;
  }
  SL_INLINE int position_bits_after(int digits) const {
    const int bits = int(p.position_bits) - (digits - kKeyDigits) * kDigitBits;
    return digits <= kKeyDigits ? int(p.position_bits) : bits > 0 ? bits : 0;
  }
  // The greatest number of so many bits.
  SL_INLINE static sl_u64 greatest(int bits) { return bits < 64 ? (1ull << bits) - 1 : ~0ull; }
  // The range has few enough elements, with those before it, to be compared with one another.
  SL_INLINE static bool is_small(const sl_range& range) {
    return range.before + range.inside <= kCandidates;
  }

  // The range in which the wanted number of elements ends, by the digit that `pass` has counted.
  SL_INLINE void find_range(Shared& shared, int pass) {
    range = {0, 0, 0, 0, sl_u32(p.length)};
    if (pass > 0) range = selection.ranges[pass];
    if (pass < 0 || is_small(range)) return;
    constexpr int kOfThread = kDigits / SL_THREADS;
    const int first = sl_thread() * kOfThread;
    sl_u32 counts[kOfThread], sum = 0, all;
    SL_UNROLL
    for (int k = 0; k < kOfThread; ++k) sum += counts[k] = selection.counts[pass][first + k];
    sl_u32 before = range.before + sl_sum_before(shared.sums, sum, &all);
    SL_UNROLL
    for (int k = 0; k < kOfThread; ++k) {
      if (before < p.count && p.count <= before + counts[k]) {
        sl_range found = range;
        found.digits = range.digits + 1;
        const sl_u64 digit = sl_u64(first + k);
        if (range.digits < kKeyDigits) {
          found.key |= digit << key_bits_after(found.digits);
        } else {
          found.at |= sl_u32(digit << position_bits_after(found.digits));
        }
        found.before = before;
        found.inside = counts[k];
        shared.range = found;
      }
      before += counts[k];
    }
    sl_sync();
    range = shared.range;
  }
  // Says which elements are in the range, or up to its end.
  struct Test {
    Key key, keys;  // the least, and how many more there are
    sl_u32 at, places;
    SL_INLINE bool is_inside(Key of, sl_u32 place) const {
      return Key(of - key) <= keys && place - at <= places;
    }
    SL_INLINE bool is_upto(Key of, sl_u32 place) const {
      return of < key || (Key(of - key) <= keys && place <= at + places);
    }
  };
  SL_INLINE Test test() const {
    return {Key(range.key), Key(greatest(key_bits_after(range.digits))), range.at,
            sl_u32(greatest(position_bits_after(range.digits)))};
  }
  // Calls f(key, at, is_there) for this thread's elements of the part.
  template <typename F>
  SL_INLINE void each(F f) const {
    const sl_i64 begin = part * p.part;
    const sl_i64 end = p.length - begin < p.part ? p.length : begin + p.part;
    SL_UNROLL_BY(1)
    for (sl_i64 first = begin + sl_thread(); first - sl_thread() < end;
         first += kItems * SL_THREADS) {
      Bits bits[kItems];
      SL_UNROLL
      for (int i = 0; i < kItems; ++i) {
        const sl_i64 at = first + i * SL_THREADS;
        bits[i] = 0;
        if (at < end) bits[i] = x[at * p.stride];
      }
      SL_UNROLL
      for (int i = 0; i < kItems; ++i) {
        const sl_i64 at = first + i * SL_THREADS;
        f(Key(Order::joined_key(bits[i], Bits(p.reverse))), sl_u32(at), at < end);
      }
    }
  }
};

// Counts the digits of a pass, in the range that the pass before it has found.
template <typename Order>
SL_INLINE void sl_select_counts(const sl_select& p) {
  typedef sl_selector<Order> Selector;
  typedef typename Selector::Key Key;
  SL_SHARED typename Selector::Shared shared;
  SL_SHARED sl_u32 counts[kDigits];
  Selector selector(p);
  const int pass = int(p.pass);
  selector.find_range(shared, pass - 1);
  const sl_range range = selector.range;
  if (selector.part == 0 && sl_thread() == 0) selector.selection.ranges[pass] = range;
  if (Selector::is_small(range)) return;
  SL_UNROLL_BY(1)
  for (int k = sl_thread(); k < kDigits; k += SL_THREADS) counts[k] = 0;
  sl_sync();
  const bool is_of_key = range.digits < Selector::kKeyDigits;
  const int shift = is_of_key ? selector.key_bits_after(range.digits + 1)
                              : selector.position_bits_after(range.digits + 1);
  const int bits = is_of_key ? selector.key_bits_after(range.digits) - shift
                             : selector.position_bits_after(range.digits) - shift;
  const typename Selector::Test test = selector.test();
  selector.each([&](Key key, sl_u32 at, bool is_there) SL_LAMBDA {
    const sl_u32 digit = sl_u32((is_of_key ? key : Key(at)) >> shift) & ((1u << bits) - 1);
    if (is_there && test.is_inside(key, at)) sl_add_atomic(&counts[digit], 1);
  });
  sl_sync();
  SL_UNROLL_BY(1)
  for (int k = sl_thread(); k < kDigits; k += SL_THREADS) {
    if (counts[k] != 0) sl_add_atomic(&selector.selection.counts[pass][k], counts[k]);
  }
}

// Finds the elements up to the end of the range, in no order.
template <typename Order>
SL_INLINE void sl_select_candidates(const sl_select& p) {
  typedef sl_selector<Order> Selector;
  typedef typename Selector::Key Key;
  SL_SHARED typename Selector::Shared shared;
  Selector selector(p);
  selector.find_range(shared, int(p.passes) - 1);
  const typename Selector::Test test = selector.test();
  selector.each([&](Key key, sl_u32 at, bool is_there) SL_LAMBDA {
    if (!is_there || !test.is_upto(key, at)) return;
    sl_selection& selection = selector.selection;
    selection.candidates[sl_add_atomic(&selection.found, 1)] = {key, at};
  });
}

// Puts them where they belong: a thread for each finds how many come before it.
SL_INLINE void sl_select_ranks(const sl_select& p) {
  SL_SHARED sl_candidate others[SL_THREADS];
  constexpr int kBlocks = kCandidates / SL_THREADS;
  const sl_i64 block = p.first_block + sl_block(), number = block / kBlocks;
  const sl_selection& selection = p.selections[number];
  const int found = int(selection.found), me = int(block % kBlocks) * SL_THREADS + sl_thread();
  if (me - sl_thread() >= found) return;
  sl_candidate mine = {0, 0};
  if (me < found) mine = selection.candidates[me];
  int rank = 0;
  SL_UNROLL_BY(1)
  for (int begin = 0; begin < found; begin += SL_THREADS) {
    if (begin + sl_thread() < found) others[sl_thread()] = selection.candidates[begin + sl_thread()];
    sl_sync();
    const int size = found - begin < SL_THREADS ? found - begin : SL_THREADS;
    SL_UNROLL_BY(4)
    for (int k = 0; k < size; ++k) {
      const sl_candidate other = others[k];
      rank += other.key < mine.key || (other.key == mine.key && other.at < mine.at);
    }
    sl_sync();  // they are read
  }
  if (me >= found || rank >= p.count) return;
  sl_line<sl_u8, sl_i64> line(p, number);
  const sl_i64 from = number / p.inner * p.length * p.inner;  // by lines of x
  const sl_i64 to = number / p.inner * p.count * p.inner;
  line.y[to - from + rank * p.inner] = mine.at;
}
)sluice";

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_SELECT_TEXT_H_
