// The kernels of radix sorts (radix_sort.h), as source.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_RADIX_TEXT_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_RADIX_TEXT_H_

namespace sluice::kernels::cuda {

// With kCounted before it: how many elements' digits a block counts.
inline constexpr const char* kRadixText = R"sluice(
// ---- Radix sorts. kernels/cuda/library/radix_sort.cpp fills in sl_radix.

constexpr int kDigits = 256, kWarps = SL_THREADS / 32;

struct sl_radix : sl_lines {
  sl_u64 reverse;
  sl_i64 pieces;        // of a line
  sl_i64 passes, pass;  // of all; this one
  void *from, *to;      // elements by lines; null: x, y
  sl_u32 *from_at, *to_at;  // their positions
  // Zeroed before the first pass:
  sl_u64* states;   // of lines, pieces, digits
  sl_u32* totals;   // of lines, passes, digits
  sl_u32* tickets;  // of passes
  sl_i64 words;     // of four bytes, of these three
  sl_i64 first_block;
};

// A block's elements, element i of a thread at at(i): a warp has consecutive ones.
template <typename Order, bool kPositions, int kItems>
struct sl_radix_block {
  typedef typename Order::Bits Bits;
  static constexpr int kItemsOfThread = kItems, kSize = kItems * SL_THREADS, kDigitBit = 16;
  struct Shared {
    union {
      Bits bits[kSize];
      sl_u32 positions[kPositions ? kSize : 1];
    };
    sl_u32 counts[kWarps * kDigits];
    sl_sums sums;
  };
  Shared& shared;
  const Bits reverse;
  const int size;
  Bits bits[kItems];
  sl_u32 place[kItems];

  SL_INLINE sl_radix_block(Shared& shared, sl_u64 reverse, int size)
      : shared(shared), reverse(Bits(reverse)), size(size) {}

  SL_INLINE static int at(int i) {
    return sl_thread() / 32 * 32 * kItems + sl_thread() % 32 + i * 32;
  }
  SL_INLINE void load(const Bits* x, sl_i64 stride) {
    x += at(0) * stride;
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      bits[i] = Order::element(Bits(~Bits(0)), reverse);  // of the greatest key: stays at the end
      if (at(i) < size) bits[i] = x[i * 32 * stride];
    }
  }
  SL_INLINE sl_u32 digit(Bits bits, int shift) const {
    return sl_u32(Order::joined_key(bits, reverse) >> shift) & (kDigits - 1);
  }
  // Finds each element's digit and how many of its warp have the same and come before it. Returns
  // how many elements of the block have this thread's digit.
  SL_INLINE sl_u32 count(int shift) {
    const int lane = sl_thread() % 32;
    sl_u32* const mine = shared.counts + sl_thread() / 32 * kDigits;
    SL_UNROLL
    for (int k = 0; k < kDigits; k += 32) mine[k + lane] = 0;
    sl_sync_warp();
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      const sl_u32 digit = this->digit(bits[i], shift);
      const sl_u32 peers = sl_match<8>(digit);
      const sl_u32 before = mine[digit] + sl_count_bits(peers & ((1u << lane) - 1));
      place[i] = digit << kDigitBit | before;
      sl_sync_warp();
      if (peers >> lane == 1) mine[digit] = before + 1;
      sl_sync_warp();
    }
    sl_sync();
    sl_u32 total = 0;
    SL_UNROLL
    for (int k = 0; k < kWarps; ++k) {
      sl_u32& of_warp = shared.counts[k * kDigits + sl_thread()];
      const sl_u32 before = total;
      total += of_warp;
      of_warp = before;
    }
    return total;
  }
  // Then finds each element's place in the block. Returns where those of this thread's digit begin.
  // `total`: what count() gave.
  SL_INLINE sl_u32 find_places(sl_u32 total) {
    sl_u32 all;
    const sl_u32 start = sl_sum_before(shared.sums, total, &all);
    SL_UNROLL
    for (int k = 0; k < kWarps; ++k) shared.counts[k * kDigits + sl_thread()] += start;
    sl_sync();
    const sl_u32* const mine = shared.counts + sl_thread() / 32 * kDigits;
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      place[i] = mine[place[i] >> kDigitBit] + (place[i] & ((1u << kDigitBit) - 1));
    }
    return start;
  }
  // Then puts the elements there.
  SL_INLINE void store_sorted() {
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) shared.bits[place[i]] = bits[i];
  }
};

template <typename Bits, bool kPositions> struct sl_sorted { typedef Bits Type; };
template <typename Bits> struct sl_sorted<Bits, true> { typedef sl_i64 Type; };

// A block for each line.
template <typename Order, bool kPositions, int kItems>
SL_INLINE void sl_radix_line(const sl_radix& p) {
  typedef sl_radix_block<Order, kPositions, kItems> Block;
  typedef typename Block::Bits Bits;
  SL_SHARED typename Block::Shared shared;
  Block block(shared, p.reverse, int(p.length));
  typedef typename sl_sorted<Bits, kPositions>::Type Result;
  const sl_line<Bits, Result> line(p, p.first_block + sl_block());
  p.stride == 1 ? block.load(line.x, 1) : block.load(line.x, p.stride);
  sl_u32 from[kItems];
  SL_UNROLL
  for (int i = 0; i < kItems; ++i) from[i] = block.at(i);
  SL_UNROLL_BY(1)
  for (int pass = 0; pass < int(p.passes); ++pass) {
    block.find_places(block.count(8 * pass));
    block.store_sorted();
    sl_sync();
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) block.bits[i] = shared.bits[block.at(i)];
    if (!kPositions) continue;
    sl_sync();
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) shared.positions[block.place[i]] = from[i];
    sl_sync();
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) from[i] = shared.positions[block.at(i)];
    sl_sync();
  }
  const auto store = [&](sl_i64 stride) SL_LAMBDA {
    auto* const y = line.y + block.at(0) * stride;
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      if (block.at(i) >= block.size) break;
      y[i * 32 * stride] = kPositions ? from[i] : Order::canonical(block.bits[i]);
    }
  };
  p.inner == 1 ? store(1) : store(p.inner);
}

SL_INLINE void sl_radix_clear(const sl_radix& p) {
  const sl_i64 i = (p.first_block + sl_block()) * SL_THREADS + sl_thread();
  if (i < p.words) ((sl_u32*)p.states)[i] = 0;
}

// The totals of all passes' digits, of kCounted elements of a line a block.
template <typename Order>
SL_INLINE void sl_radix_counts(const sl_radix& p) {
  typedef typename Order::Bits Bits;
  constexpr int kPasses = sizeof(Bits), kItems = 8;
  SL_SHARED sl_u32 counts[kPasses * kDigits];
  SL_UNROLL
  for (int k = 0; k < kPasses; ++k) counts[k * kDigits + sl_thread()] = 0;
  sl_sync();
  const sl_i64 parts = (p.length + kCounted - 1) / kCounted, block = p.first_block + sl_block();
  const sl_i64 number = block / parts, begin = block % parts * kCounted;
  const sl_line<Bits> line(p, number);
  const int size = p.length - begin < kCounted ? int(p.length - begin) : int(kCounted);
  SL_UNROLL_BY(1)
  for (int first = sl_thread(); first < size; first += kItems * SL_THREADS) {
    Bits bits[kItems];
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      const int at = first + i * SL_THREADS;
      bits[i] = 0;
      if (at < size) bits[i] = line.x[(begin + at) * p.stride];
    }
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      if (first + i * SL_THREADS >= size) break;
      const Bits key = Order::joined_key(bits[i], Bits(p.reverse));
      SL_UNROLL
      for (int k = 0; k < kPasses; ++k) {
        const int digit = int(key >> 8 * k) & (kDigits - 1);
        if (k < p.passes) sl_add_atomic(&counts[k * kDigits + digit], 1);
      }
    }
  }
  sl_sync();
  SL_UNROLL_BY(1)
  for (int k = 0; k < p.passes; ++k) {
    const sl_u32 count = counts[k * kDigits + sl_thread()];
    if (count != 0) {
      sl_add_atomic(p.totals + (number * p.passes + k) * kDigits + sl_thread(), count);
    }
  }
}

// How many elements of a piece have this thread's digit, and how many of it and all earlier ones.
// What a state's lower half is, its upper half says: a pass's kOfPiece or kUpto.
struct sl_look_back {
  enum { kOfPiece = 1, kUpto = 2 };
  sl_u64* states;  // of the line and this digit
  sl_u32 pass;

  SL_INLINE sl_look_back(const sl_radix& p, sl_i64 line)
      : states(p.states + line * p.pieces * kDigits + sl_thread()), pass(sl_u32(p.pass)) {}
  SL_INLINE void say(sl_i64 piece, int what, sl_u32 count) {
    sl_store_strong(states + piece * kDigits, sl_u64(2 * pass + what) << 32 | count);
  }
  // Earlier pieces' blocks have begun, so that their states will come.
  SL_INLINE sl_u32 before(sl_i64 piece) const {
    sl_u32 count = 0;
    SL_UNROLL_BY(1)
    for (;;) {
      const sl_u64 state = sl_load_strong(states + (piece - 1) * kDigits);
      const sl_u32 what = sl_u32(state >> 32) - 2 * pass;
      if (what != kOfPiece && what != kUpto) continue;
      count += sl_u32(state);
      if (what == kUpto) return count;
      --piece;
    }
  }
};

// A block for each piece.
template <typename Order, bool kPositions, int kItems>
SL_INLINE void sl_radix_pass(const sl_radix& p) {
  typedef sl_radix_block<Order, kPositions, kItems> Block;
  typedef typename Block::Bits Bits;
  typedef typename sl_sorted<Bits, kPositions>::Type Result;
  SL_SHARED typename Block::Shared shared;
  SL_SHARED sl_u32 to[kDigits];
  // Blocks take pieces in the order in which they begin.
  if (sl_thread() == 0) to[0] = sl_add_atomic(p.tickets + p.pass, 1);
  sl_sync();
  const sl_u32 number = to[0], line = number / sl_u32(p.pieces), piece = number % sl_u32(p.pieces);
  const sl_i64 begin = sl_i64(piece) * Block::kSize, of_line = line * p.length;
  const int shift = 8 * int(p.pass);

  Block block(shared, p.reverse,
              p.length - begin < Block::kSize ? int(p.length - begin) : Block::kSize);
  if (p.from) {
    block.load((const Bits*)p.from + of_line + begin, 1);
  } else {
    const Bits* const x = sl_line<Bits>(p, line).x + begin * p.stride;
    p.stride == 1 ? block.load(x, 1) : block.load(x, p.stride);
  }
  const sl_u32 total = block.count(shift);
  const sl_u32 count = sl_thread() < kDigits - 1 ? total : total - (Block::kSize - block.size);
  sl_look_back look_back(p, line);
  if (piece > 0) look_back.say(piece, sl_look_back::kOfPiece, count);

  const sl_u32 start = block.find_places(total);
  block.store_sorted();
  sl_u32 from[kItems];
  if (kPositions) {
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      from[i] = sl_u32(begin) + block.at(i);
      if (p.from && block.at(i) < block.size) from[i] = p.from_at[of_line + begin + block.at(i)];
    }
  }
  // Where this piece's elements of the digit are to be in the line.
  sl_u32 before;
  if (piece > 0) {
    before = look_back.before(piece);
  } else {
    sl_u32 all;
    const sl_u32* const totals = p.totals + (line * p.passes + p.pass) * kDigits;
    before = sl_sum_before(shared.sums, totals[sl_thread()], &all);
  }
  look_back.say(piece, sl_look_back::kUpto, before + count);
  to[sl_thread()] = before - start;
  sl_sync();

  sl_u32 target[kItems];
  SL_UNROLL
  for (int i = 0; i < kItems; ++i) {
    const int at = i * SL_THREADS + sl_thread();
    block.bits[i] = shared.bits[at];
    target[i] = to[block.digit(block.bits[i], shift)] + sl_u32(at);
  }
  const auto store = [&](auto* y, sl_i64 stride, const auto& x) SL_LAMBDA {
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      if (i * SL_THREADS + sl_thread() < block.size) y[target[i] * stride] = x(i);
    }
  };
  const auto store_result = [&](const auto& x) SL_LAMBDA {
    Result* const y = sl_line<Bits, Result>(p, line).y;
    p.inner == 1 ? store(y, 1, x) : store(y, p.inner, x);
  };
  if (p.to) {
    store((Bits*)p.to + of_line, 1, [&](int i) SL_LAMBDA { return block.bits[i]; });
  } else if (!kPositions) {
    store_result([&](int i) SL_LAMBDA { return Order::canonical(block.bits[i]); });
  }
  if constexpr (kPositions) {
    sl_sync();
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) shared.positions[block.place[i]] = from[i];
    sl_sync();
    const auto position = [&](int i) SL_LAMBDA {
      return shared.positions[i * SL_THREADS + sl_thread()];
    };
    if (p.to) {
      store(p.to_at + of_line, 1, position);
    } else {
      store_result(position);
    }
  }
}
)sluice";

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_RADIX_TEXT_H_
