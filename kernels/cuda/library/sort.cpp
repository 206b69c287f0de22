// Sorts on a GPU: of long lines by their bits (radix_sort.h), else by Batcher's bitonic network in
// place, with no memory beside the result.
//
// What is compared is keys, or keys and then positions: no two are equal, so that the network's
// lack of stability does not show. In all comparisons the lesser goes to the front, so that what a
// line lacks to a power of two needs no place: it would stay behind the end.
#include "fusion/library/sort.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/library/lines.h"
#include "kernels/cuda/library/order_text.h"
#include "kernels/cuda/library/radix_sort.h"
#include "kernels/gpu/run/call.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::SortAttributes;
using fusion::SortResult;

constexpr int64_t kTile = 1024;  // elements in a block's shared memory

constexpr const char* kSortText = R"sluice(
// ---- Sorts. kernels/cuda/library/sort.cpp fills in sl_sort.

struct sl_sort : sl_lines {
  sl_u64 reverse;
  sl_i64 tile;      // elements of a line, or of a part of one, in a tile: a power of two
  sl_i64 parts;     // tiles a line
  sl_i64 is_first;  // reads x
  sl_i64 size;      // of the runs that a step makes, of two each
  sl_i64 distance;  // of what a step compares; 0: an element and its mirror image in the run
  sl_i64 first_block;
};

template <typename Order>
struct sl_values {
  typedef typename Order::Bits Bits;
  typedef Bits Result;
  struct Word { Bits key; };
  typedef sl_line<Bits> Line;

  SL_INLINE static Word first(const sl_sort& p, const Line& line, sl_i64 i) {
    return {Order::key(line.x[i * p.stride], Bits(p.reverse))};
  }
  SL_INLINE static Word again(const sl_sort& p, const Line& line, sl_i64 i) {
    return {Order::key(line.y[i * p.inner], Bits(p.reverse))};
  }
  SL_INLINE static Bits result(const sl_sort& p, Word word) {
    return Order::element(word.key, Bits(p.reverse));
  }
  SL_INLINE static bool before(Word a, Word b) { return a.key < b.key; }
};
template <typename Order>
struct sl_positions {
  typedef typename Order::Bits Bits;
  typedef sl_i64 Result;
  struct Word { Bits key; sl_i64 at; };
  typedef sl_line<Bits, sl_i64> Line;

  SL_INLINE static Word first(const sl_sort& p, const Line& line, sl_i64 i) {
    return {Order::joined_key(line.x[i * p.stride], Bits(p.reverse)), i};
  }
  SL_INLINE static Word again(const sl_sort& p, const Line& line, sl_i64 i) {
    return first(p, line, line.y[i * p.inner]);
  }
  SL_INLINE static sl_i64 result(const sl_sort& p, Word word) { return word.at; }
  SL_INLINE static bool before(Word a, Word b) {
    return a.key != b.key ? a.key < b.key : a.at < b.at;
  }
};

// The two elements of the pair-th comparison.
struct sl_pair {
  sl_i64 a, b;
  SL_INLINE sl_pair(sl_i64 pair, sl_i64 size, sl_i64 distance) {
    if (distance == 0) {
      const sl_i64 run = pair / (size / 2) * size, at = pair % (size / 2);
      a = run + at;
      b = run + size - 1 - at;
    } else {
      a = pair / distance * 2 * distance + pair % distance;
      b = a + distance;
    }
  }
};

// A tile of several short lines, or of a part of a long one.
template <typename By, int kTile>
struct sl_tile {
  struct Words { typename By::Word of[kTile]; };
  const sl_sort& p;
  Words& words;
  sl_i64 first_line, begin;

  SL_INLINE sl_tile(const sl_sort& p, Words& words) : p(p), words(words) {
    const sl_i64 block = p.first_block + sl_block();
    first_line = p.parts > 1 ? block / p.parts : block * (kTile / p.tile);
    begin = p.parts > 1 ? block % p.parts * kTile : 0;
  }
  SL_INLINE bool has(sl_i64 slot) const {
    return first_line + slot / p.tile < p.lines && begin + slot % p.tile < p.length;
  }
  SL_INLINE void step(sl_i64 size, sl_i64 distance) {
    SL_UNROLL_BY(1)
    for (int pair = sl_thread(); pair < kTile / 2; pair += SL_THREADS) {
      const sl_pair at(pair, size, distance);
      if (!has(at.b)) continue;
      const typename By::Word a = words.of[at.a], b = words.of[at.b];
      if (By::before(b, a)) {
        words.of[at.a] = b;
        words.of[at.b] = a;
      }
    }
    sl_sync();
  }
  SL_INLINE void load() {
    SL_UNROLL_BY(1)
    for (int slot = sl_thread(); slot < kTile; slot += SL_THREADS) {
      if (!has(slot)) continue;
      const typename By::Line line(p, first_line + slot / p.tile);
      const sl_i64 i = begin + slot % p.tile;
      words.of[slot] = p.is_first ? By::first(p, line, i) : By::again(p, line, i);
    }
    sl_sync();
  }
  SL_INLINE void store() const {
    SL_UNROLL_BY(1)
    for (int slot = sl_thread(); slot < kTile; slot += SL_THREADS) {
      if (!has(slot)) continue;
      const typename By::Line line(p, first_line + slot / p.tile);
      line.y[(begin + slot % p.tile) * p.inner] = By::result(p, words.of[slot]);
    }
  }
};

// Sorts tiles of x into y, or ends a merge whose steps are not longer than half a tile in y.
template <typename By, int kTile>
SL_INLINE void sl_sort_tiles(const sl_sort& p) {
  SL_SHARED typename sl_tile<By, kTile>::Words words;
  sl_tile<By, kTile> tile(p, words);
  tile.load();
  SL_UNROLL_BY(1)
  for (sl_i64 size = p.is_first ? 2 : p.tile; size <= p.tile; size *= 2) {
    if (p.is_first) tile.step(size, 0);
    SL_UNROLL_BY(1)
    for (sl_i64 distance = p.is_first ? size / 4 : size / 2; distance > 0; distance /= 2) {
      tile.step(size, distance);
    }
  }
  tile.store();
}

// A step of a merge in y, a thread for each comparison.
template <typename By>
SL_INLINE void sl_sort_step(const sl_sort& p) {
  const sl_i64 block = p.first_block + sl_block();
  const typename By::Line line(p, block / p.parts);
  const sl_pair at(block % p.parts * SL_THREADS + sl_thread(), p.size, p.distance);
  if (at.b >= p.length) return;
  const typename By::Word a = By::again(p, line, at.a), b = By::again(p, line, at.b);
  if (!By::before(b, a)) return;
  line.y[at.a * p.inner] = By::result(p, b);
  line.y[at.b * p.inner] = By::result(p, a);
}

// Sorted as keys, -0 and 0 are apart. Of a line that has both, a block puts them into the order
// that they have in x.
template <typename Order>
SL_INLINE void sl_sort_zeros(const sl_sort& p) {
  typedef typename Order::Bits Bits;
  SL_SHARED sl_sums sums;
  const sl_line<Bits> line(p, p.first_block + sl_block());
  const Bits one = Order::key(0, Bits(p.reverse)), other = Order::key(Order::kSign, Bits(p.reverse));
  const Bits least = one < other ? one : other, greatest = one < other ? other : one;
  sl_i64 first[2];  // elements whose keys are less than these two
  SL_UNROLL
  for (int k = 0; k < 2; ++k) {
    sl_i64 low = 0, high = p.length;
    while (low < high) {
      const sl_i64 middle = (low + high) / 2;
      if (Order::key(line.y[middle * p.inner], Bits(p.reverse)) < (k == 0 ? least : greatest))
        low = middle + 1;
      else
        high = middle;
    }
    first[k] = low;
  }
  const bool has_both =
      first[0] < first[1] && first[1] < p.length &&
      Order::key(line.y[first[1] * p.inner], Bits(p.reverse)) == greatest;
  sl_sync();  // y is read
  if (!has_both) return;
  sl_i64 next = first[0];
  SL_UNROLL_BY(1)
  for (sl_i64 begin = 0; begin < p.length; begin += SL_THREADS) {
    const sl_i64 i = begin + sl_thread();
    Bits bits = 1;
    if (i < p.length) bits = line.x[i * p.stride];
    int all;
    const int rank = sl_rank(sums, Order::is_zero(bits), &all);
    if (Order::is_zero(bits)) line.y[(next + rank) * p.inner] = bits;
    next += all;
  }
}
)sluice";

// sl_sort of the text.
struct SortArguments : LinesArguments {
  uint64_t reverse;
  int64_t tile, parts;
  int64_t is_first = 1;
  int64_t size = 0, distance = 0;
  int64_t first_block = 0;

  SortArguments(const SortAttributes& attributes, absl::Span<void* const> buffers)
      : LinesArguments(attributes.lines,
                       static_cast<const char*>(buffers[0]) +
                           attributes.offset * static_cast<int64_t>(size_of(attributes.dtype)),
                       buffers[1]),
        reverse(attributes.descending ? ~uint64_t{0} : 0),
        tile(std::min<int64_t>(kTile,
                               static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length))))),
        parts(ceil_div(length, kTile)) {}
};

enum class Pass { kTiles, kStep, kZeros };
constexpr const char* kPassNames[] = {"tiles", "step", "zeros"};

class SortRunner : public LibraryRunner {
 public:
  explicit SortRunner(const LibraryDevice& device)
      : radix_(device), kernels_(device.context, device.compiler) {}

  absl::Status prepare(const fusion::LibraryCall& call) override {
    const SortAttributes& attributes = fusion::sort_of(call);
    if (RadixSort::is_for(attributes)) return radix_.prepare(attributes);
    absl::Status status = kernel(attributes, Pass::kTiles).compile();
    if (status.ok() && attributes.lines.length > kTile) {
      status = kernel(attributes, Pass::kStep).compile();
    }
    if (status.ok() && has_zeros(attributes)) status = kernel(attributes, Pass::kZeros).compile();
    return status;
  }

  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label) override {
    const SortAttributes& attributes = fusion::sort_of(call);
    const int64_t length = attributes.lines.length, lines = attributes.lines.lines;
    if (length == 0 || lines == 0) return absl::OkStatus();
    if (RadixSort::is_for(attributes)) return radix_.enqueue(stream, attributes, buffers, label);
    const SortArguments all(attributes, buffers);
    auto launch = [&](Pass pass, SortArguments arguments, int64_t blocks) {
      return kernel(attributes, pass).launch(stream, &arguments, blocks, label);
    };
    const int64_t tiles = all.parts > 1 ? lines * all.parts : ceil_div(lines, kTile / all.tile);
    absl::Status status = launch(Pass::kTiles, all, tiles);
    for (int64_t size = 2 * kTile; status.ok() && size / 2 < length; size *= 2) {
      SortArguments step = all;
      step.is_first = 0;
      step.size = size;
      step.parts = ceil_div(ceil_div(length, size) * (size / 2), kThreads);
      status = launch(Pass::kStep, step, lines * step.parts);
      for (step.distance = size / 4; status.ok() && step.distance >= kTile; step.distance /= 2) {
        status = launch(Pass::kStep, step, lines * step.parts);
      }
      if (!status.ok()) break;
      step.parts = all.parts;
      status = launch(Pass::kTiles, step, tiles);
    }
    if (status.ok() && has_zeros(attributes)) status = launch(Pass::kZeros, all, lines);
    return status;
  }

 private:
  static bool has_zeros(const SortAttributes& attributes) {
    return attributes.result == SortResult::kValues && is_float(attributes.dtype);
  }

  SourceKernel& kernel(const SortAttributes& attributes, Pass pass) {
    const bool is_values = attributes.result == SortResult::kValues;
    const char* const what = kPassNames[static_cast<int>(pass)];
    const std::string name = absl::StrCat(is_values ? "sort_" : "argsort_", what, "_",
                                          sluice::name_of(attributes.dtype));
    const std::string order = order_type(attributes.dtype);
    const std::string by =
        pass == Pass::kZeros ? order
                             : absl::StrCat(is_values ? "sl_values<" : "sl_positions<", order, ">");
    return kernels_.get(name, [&] {
      return absl::StrCat(kLinesText, kOrderText, kSortText, "SL_KERNEL(", name,
                          ", sl_sort) { sl_sort_", what, "<", by,
                          pass == Pass::kTiles ? absl::StrCat(", ", kTile) : "", ">(p); }\n");
    });
  }

  RadixSort radix_;
  SourceKernels kernels_;
};

}  // namespace

std::unique_ptr<LibraryRunner> make_sort_runner(const LibraryDevice& device) {
  return std::make_unique<SortRunner>(device);
}

}  // namespace sluice::kernels::cuda
