#include "kernels/cuda/library/radix_sort.h"

#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/library/lines.h"
#include "kernels/cuda/library/order_text.h"
#include "kernels/gpu/run/call.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::SortAttributes;
using fusion::SortResult;

constexpr int64_t kRadixShortLine = 1024;  // a block sorts it in shared memory
constexpr int64_t kFewElements = 1 << 16;
constexpr int64_t kRadixItems = 8;  // elements of a thread
constexpr int64_t kRadixPiece = kRadixItems * kThreads;
constexpr int64_t kDigits = 256;

// So few that a thread sums their counts.
bool are_few(int64_t pieces) { return pieces < 64; }

constexpr const char* kRadixText = R"sluice(
// ---- Radix sorts. kernels/cuda/library/radix_sort.cpp fills in sl_radix.

constexpr int kItems = 8, kPiece = kItems * SL_THREADS, kDigits = 256;

struct sl_radix : sl_lines {
  sl_u64 reverse;
  sl_i64 pieces;             // of a line
  sl_i64 shift;              // of the digit
  sl_i64 is_first, is_last;  // reads x, writes y
  void* sorted;              // the elements, by pieces
  void* moved;               // and by lines
  sl_u32* sorted_at;         // and their positions
  sl_u32* moved_at;
  sl_u32* counts;            // of lines, digits, pieces: then of earlier pieces' same digit
  sl_u32* totals;            // of lines, digits
  sl_i64 first_block;
};

// A place in shared memory such that neither consecutive elements nor every eighth or sixteenth
// share a bank.
SL_INLINE int sl_place(int i) { return i + i / 32; }
template <typename T, int kSize>
struct sl_places {
  T of[kSize + kSize / 32];
  SL_INLINE T& operator[](int i) { return of[sl_place(i)]; }
};

template <typename Order, bool kPositions>
struct sl_piece {
  typedef typename Order::Bits Bits;
  struct Shared {
    sl_places<Bits, kPiece> bits;
    sl_places<sl_u16, kPositions ? kPiece : 32> from;  // of each its place at first
    sl_places<sl_u32, 16 * SL_THREADS> counts;         // of nibbles, threads
    int start[kDigits + 1];
    sl_sums sums;
  };
  const sl_radix& p;
  Shared& shared;
  sl_i64 line, piece, begin;  // `begin`: in the line
  int size;

  SL_INLINE sl_piece(const sl_radix& p, Shared& shared) : p(p), shared(shared) {
    const sl_i64 block = p.first_block + sl_block();
    line = block / p.pieces;
    piece = block % p.pieces;
    begin = piece * kPiece;
    size = p.length - begin < kPiece ? int(p.length - begin) : kPiece;
  }
  SL_INLINE int digit(Bits bits) const {
    return int(Order::joined_key(bits, Bits(p.reverse)) >> p.shift) & (kDigits - 1);
  }
  // Stable, by four bits of the digits. What the piece lacks stays behind the end.
  SL_INLINE void sort_by_nibble(int shift) {
    Bits bits[kItems];
    sl_u16 from[kItems];
    int nibble[kItems];
    sl_u32 rank[kItems];
    SL_UNROLL
    for (int k = 0; k < 16; ++k) shared.counts[k * SL_THREADS + sl_thread()] = 0;
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      const int at = sl_thread() * kItems + i;
      bits[i] = shared.bits[at];
      if (kPositions) from[i] = shared.from[at];
      nibble[i] = at < size ? digit(bits[i]) >> shift & 15 : 15;
      rank[i] = shared.counts[nibble[i] * SL_THREADS + sl_thread()]++;
    }
    sl_sync();
    sl_u32 total = 0;
    SL_UNROLL
    for (int k = 0; k < 16; ++k) total += shared.counts[sl_thread() * 16 + k];
    sl_u32 all;
    sl_u32 next = sl_sum_before(shared.sums, total, &all);
    SL_UNROLL
    for (int k = 0; k < 16; ++k) {
      sl_u32& count = shared.counts[sl_thread() * 16 + k];
      const sl_u32 before = next;
      next += count;
      count = before;
    }
    sl_sync();
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      const int to = int(shared.counts[nibble[i] * SL_THREADS + sl_thread()] + rank[i]);
      shared.bits[to] = bits[i];
      if (kPositions) shared.from[to] = from[i];
    }
    sl_sync();
  }
  // Where the runs of equal digits of the sorted piece start; those that it lacks at -1.
  SL_INLINE void find_starts() {
    shared.start[sl_thread()] = -1;
    sl_sync();
    SL_UNROLL_BY(1)
    for (int i = sl_thread(); i < size; i += SL_THREADS) {
      const int mine = digit(shared.bits[i]);
      if (i == 0 || digit(shared.bits[i - 1]) != mine) shared.start[mine] = i;
    }
    sl_sync();
  }
};

template <typename Order, bool kPositions>
SL_INLINE void sl_radix_pieces(const sl_radix& p) {
  typedef sl_piece<Order, kPositions> Piece;
  typedef typename Piece::Bits Bits;
  SL_SHARED typename Piece::Shared shared;
  Piece piece(p, shared);
  const sl_line<Bits, sl_u8> line(p, piece.line);
  const Bits* const moved = (const Bits*)p.moved + piece.line * p.length;
  SL_UNROLL_BY(8)
  for (int i = sl_thread(); i < kPiece; i += SL_THREADS) {
    Bits bits = 0;
    if (i < piece.size) {
      bits = p.is_first ? line.x[(piece.begin + i) * p.stride] : moved[piece.begin + i];
    }
    shared.bits[i] = bits;
    if (kPositions) shared.from[i] = sl_u16(i);
  }
  sl_sync();
  piece.sort_by_nibble(0);
  piece.sort_by_nibble(4);

  const sl_i64 first = piece.line * p.length + piece.begin;
  SL_UNROLL_BY(4)
  for (int i = sl_thread(); i < piece.size; i += SL_THREADS) {
    ((Bits*)p.sorted)[first + i] = shared.bits[i];
    if (kPositions) {
      const sl_i64 from = shared.from[i];
      p.sorted_at[first + i] =
          p.is_first ? sl_u32(piece.begin + from) : p.moved_at[first + from];
    }
  }
  piece.find_starts();
  if (sl_thread() == 0) shared.start[kDigits] = piece.size;
  sl_sync();
  const int start = shared.start[sl_thread()];
  int end = start;
  if (start >= 0) {
    int next = sl_thread() + 1;
    SL_UNROLL_BY(1)
    while (shared.start[next] < 0) ++next;
    end = shared.start[next];
  }
  p.counts[(piece.line * kDigits + sl_thread()) * p.pieces + piece.piece] = sl_u32(end - start);
}

// A block for each line and digit.
SL_INLINE void sl_radix_sums(const sl_radix& p) {
  SL_SHARED sl_sums sums;
  const sl_i64 number = p.first_block + sl_block();
  sl_u32* const counts = p.counts + number * p.pieces;
  sl_u32 before = 0;
  SL_UNROLL_BY(1)
  for (sl_i64 first = 0; first < p.pieces; first += kPiece) {
    sl_u32 count[kItems], total = 0, all;
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      const sl_i64 at = first + sl_thread() * kItems + i;
      count[i] = at < p.pieces ? counts[at] : 0;
      total += count[i];
    }
    sl_u32 next = before + sl_sum_before(sums, total, &all);
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      const sl_i64 at = first + sl_thread() * kItems + i;
      if (at < p.pieces) counts[at] = next;
      next += count[i];
    }
    before += all;
  }
  if (sl_thread() == 0) p.totals[number] = before;
}
// A thread for each line and digit, where there are few pieces.
SL_INLINE void sl_radix_few_sums(const sl_radix& p) {
  const sl_i64 number = (p.first_block + sl_block()) * SL_THREADS + sl_thread();
  if (number >= p.lines * kDigits) return;
  sl_u32* const counts = p.counts + number * p.pieces;
  sl_u32 before = 0;
  SL_UNROLL_BY(1)
  for (sl_i64 k = 0; k < p.pieces; ++k) {
    const sl_u32 count = counts[k];
    counts[k] = before;
    before += count;
  }
  p.totals[number] = before;
}

template <typename Order, bool kPositions>
SL_INLINE void sl_radix_move(const sl_radix& p) {
  typedef sl_piece<Order, kPositions> Piece;
  typedef typename Piece::Bits Bits;
  SL_SHARED typename Piece::Shared shared;
  Piece piece(p, shared);
  const sl_i64 first = piece.line * p.length + piece.begin;
  SL_UNROLL_BY(8)
  for (int i = sl_thread(); i < piece.size; i += SL_THREADS) {
    shared.bits[i] = ((const Bits*)p.sorted)[first + i];
  }
  sl_sync();
  piece.find_starts();
  // From where the i-th element of the piece is to be in the line, less i.
  sl_u32 all;
  const sl_i64 number = piece.line * kDigits + sl_thread();
  const sl_u32 of_lesser = sl_sum_before(shared.sums, p.totals[number], &all);
  shared.counts[sl_thread()] = of_lesser + p.counts[number * p.pieces + piece.piece] -
                               sl_u32(shared.start[sl_thread()]);
  sl_sync();
  const sl_line<Bits, Bits> values(p, piece.line);
  const sl_line<Bits, sl_i64> positions(p, piece.line);
  SL_UNROLL_BY(4)
  for (int i = sl_thread(); i < piece.size; i += SL_THREADS) {
    const Bits bits = shared.bits[i];
    const sl_i64 to = sl_u32(shared.counts[piece.digit(bits)] + sl_u32(i));
    if (!p.is_last) {
      ((Bits*)p.moved)[piece.line * p.length + to] = bits;
      if (kPositions) p.moved_at[piece.line * p.length + to] = p.sorted_at[first + i];
    } else if (kPositions) {
      positions.y[to * p.inner] = p.sorted_at[first + i];
    } else {
      // Whatever a NaN was.
      values.y[to * p.inner] = Order::element(Order::key(bits, 0), 0);
    }
  }
}
)sluice";

// sl_radix of the text.
struct RadixArguments : LinesArguments {
  uint64_t reverse;
  int64_t pieces;
  int64_t shift = 0;
  int64_t is_first = 1, is_last = 0;
  char *sorted = nullptr, *moved = nullptr;
  char *sorted_at = nullptr, *moved_at = nullptr;
  char *counts = nullptr, *totals = nullptr;
  int64_t first_block = 0;

  RadixArguments(const SortAttributes& attributes, absl::Span<void* const> buffers)
      : LinesArguments(attributes.lines,
                       static_cast<const char*>(buffers[0]) +
                           attributes.offset * static_cast<int64_t>(size_of(attributes.dtype)),
                       buffers[1]),
        reverse(attributes.descending ? ~uint64_t{0} : 0),
        pieces(ceil_div(length, kRadixPiece)) {}

  // Divides memory among the buffers; the bytes that they take. `base` may be null.
  int64_t divide(char* base, const SortAttributes& attributes) {
    int64_t used = 0;
    const auto take = [&](char** buffer, int64_t bytes) {
      *buffer = base + used;
      used += ceil_div(bytes, 256) * 256;
    };
    const int64_t elements = lines * length;
    take(&sorted, elements * static_cast<int64_t>(size_of(attributes.dtype)));
    take(&moved, elements * static_cast<int64_t>(size_of(attributes.dtype)));
    if (attributes.result == SortResult::kPositions) {
      take(&sorted_at, elements * 4);
      take(&moved_at, elements * 4);
    }
    take(&counts, lines * kDigits * pieces * 4);
    take(&totals, lines * kDigits * 4);
    return used;
  }
};

}  // namespace

bool RadixSort::is_for(const SortAttributes& attributes) {
  const int64_t length = attributes.lines.length;
  return length > kRadixShortLine && length * attributes.lines.lines >= kFewElements &&
         length <= std::numeric_limits<uint32_t>::max();
}

absl::Status RadixSort::prepare(const SortAttributes& attributes) {
  for (const Step step : {Step::kPieces, Step::kSums, Step::kMove}) {
    const absl::Status status = kernel(attributes, step).compile();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status RadixSort::enqueue(runtime::cuda::CudaStream* stream, const SortAttributes& attributes,
                                absl::Span<void* const> buffers, absl::string_view label,
                                int bits) {
  RadixArguments arguments(attributes, buffers);
  runtime::cuda::DeviceAllocator& allocator = stream->device().allocator();
  const auto bytes = static_cast<size_t>(arguments.divide(nullptr, attributes));
  const absl::StatusOr<void*> memory = allocator.allocate(bytes, stream);
  if (!memory.ok()) return memory.status();
  arguments.divide(static_cast<char*>(*memory), attributes);

  absl::Status status;
  const auto launch = [&](Step step, int64_t blocks) {
    arguments.first_block = 0;
    if (status.ok()) status = kernel(attributes, step).launch(stream, &arguments, blocks, label);
  };
  if (bits == 0) bits = static_cast<int>(8 * size_of(attributes.dtype));
  const int64_t pieces = arguments.lines * arguments.pieces, digits = arguments.lines * kDigits;
  for (arguments.shift = 0; arguments.shift < bits; arguments.shift += 8) {
    arguments.is_last = arguments.shift + 8 >= bits;
    launch(Step::kPieces, pieces);
    launch(Step::kSums, are_few(arguments.pieces) ? ceil_div(digits, int64_t{kThreads}) : digits);
    launch(Step::kMove, pieces);
    arguments.is_first = 0;
  }
  // Later work on the stream may reuse it.
  allocator.free(*memory);
  return status;
}

SourceKernel& RadixSort::kernel(const SortAttributes& attributes, Step step) {
  const bool is_few = are_few(ceil_div(attributes.lines.length, kRadixPiece));
  const std::string what = step == Step::kPieces ? "pieces"
                           : step == Step::kMove ? "move"
                           : is_few              ? "few_sums"
                                                 : "sums";
  const auto with_texts = [](const std::string& kernel) {
    return absl::StrCat(kLinesText, kOrderText, kRadixText, kernel);
  };
  if (step == Step::kSums) {
    const std::string name = absl::StrCat("radix_", what);
    return kernels_.get(name, [&] {
      return with_texts(
          absl::StrCat("SL_KERNEL(", name, ", sl_radix) { sl_radix_", what, "(p); }\n"));
    });
  }
  const bool is_values = attributes.result == SortResult::kValues;
  const std::string name = absl::StrCat(is_values ? "radix_sort_" : "radix_argsort_", what, "_",
                                        sluice::name_of(attributes.dtype));
  return kernels_.get(name, [&] {
    return with_texts(absl::StrCat("SL_KERNEL(", name, ", sl_radix) { sl_radix_", what, "<",
                                   order_type(attributes.dtype), ", ", is_values ? "false" : "true",
                                   ">(p); }\n"));
  });
}

}  // namespace sluice::kernels::cuda
