// Sorts on a GPU: of long lines by their bits (radix_sort.h), of short ones by Batcher's bitonic
// network in shared memory. The first few elements of long lines are selected (select.h).
//
// What the network compares is keys, or keys and then positions: no two are equal, so that its lack
// of stability does not show. In all comparisons the lesser goes to the front, so that what a line
// lacks to a power of two needs no place: it would stay behind the end.
#include "fusion/library/sort.h"

#include <bit>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/library/lines.h"
#include "kernels/cuda/library/order_text.h"
#include "kernels/cuda/library/radix_sort.h"
#include "kernels/cuda/library/select.h"
#include "kernels/gpu/run/call.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::SortAttributes;
using fusion::SortResult;

constexpr int kTile = 1024;  // elements in a block's shared memory

constexpr const char* kSortText = R"sluice(
// ---- Sorts. kernels/cuda/library/sort.cpp fills in sl_sort.

struct sl_sort : sl_lines {
  sl_u64 reverse;
  sl_i64 tile_bit;  // a line takes 2^tile_bit places of a tile
  sl_i64 first_block;
};

// Values of which equal ones have the same bits.
template <typename Order>
struct sl_values {
  typedef typename Order::Bits Bits;
  struct Word { Bits key; };
  typedef sl_line<Bits> Line;

  SL_INLINE static Word word(const sl_sort& p, const Line& line, int i) {
    return {Order::key(line.x[i * p.stride], Bits(p.reverse))};
  }
  SL_INLINE static Bits result(const sl_sort& p, const Line&, Word word) {
    return Order::element(word.key, Bits(p.reverse));
  }
  SL_INLINE static bool before(Word a, Word b) { return a.key < b.key; }
};
template <typename Order, typename Result>
struct sl_stable {
  typedef typename Order::Bits Bits;
  struct Word { Bits key, at; };  // a line has at most 256
  typedef sl_line<Bits, Result> Line;

  SL_INLINE static Word word(const sl_sort& p, const Line& line, int i) {
    return {Order::joined_key(line.x[i * p.stride], Bits(p.reverse)), Bits(i)};
  }
  SL_INLINE static bool before(Word a, Word b) {
    return a.key != b.key ? a.key < b.key : a.at < b.at;
  }
};
template <typename Order>
struct sl_stable_values : sl_stable<Order, typename Order::Bits> {
  typedef sl_stable<Order, typename Order::Bits> Base;
  SL_INLINE static typename Order::Bits result(const sl_sort& p, const typename Base::Line& line,
                                               typename Base::Word word) {
    return Order::canonical(line.x[word.at * p.stride]);
  }
};
template <typename Order>
struct sl_positions : sl_stable<Order, sl_i64> {
  typedef sl_stable<Order, sl_i64> Base;
  SL_INLINE static sl_i64 result(const sl_sort&, const typename Base::Line&,
                                 typename Base::Word word) {
    return word.at;
  }
};

// A tile of several lines.
template <typename By, int kTile>
struct sl_tile {
  struct Words { typename By::Word of[kTile]; };
  const sl_sort& p;
  Words& words;
  const int bit;
  const sl_i64 first_line;
  const int length, lines;

  SL_INLINE sl_tile(const sl_sort& p, Words& words)
      : p(p),
        words(words),
        bit(int(p.tile_bit)),
        first_line((p.first_block + sl_block()) * (kTile >> bit)),
        length(int(p.length)),
        lines(p.lines - first_line < kTile >> bit ? int(p.lines - first_line) : kTile >> bit) {}
  SL_INLINE int place(int slot) const { return slot & ((1 << bit) - 1); }
  SL_INLINE bool has(int slot) const { return slot >> bit < lines && place(slot) < length; }
  SL_INLINE typename By::Line line(int slot) const { return {p, first_line + (slot >> bit)}; }

  // Makes runs of 2^run_bit, of two each: compares what is 2^distance_bit apart, or an element with
  // its mirror image in the run.
  SL_INLINE void step(int run_bit, int distance_bit, bool mirrors) {
    SL_UNROLL_BY(1)
    for (int pair = sl_thread(); pair < kTile / 2; pair += SL_THREADS) {
      const int distance = 1 << distance_bit;
      const int begin = pair >> distance_bit << (distance_bit + 1), i = pair & (distance - 1);
      const int first = begin + i;
      const int second = mirrors ? begin + 2 * distance - 1 - i : first + distance;
      if (!has(second)) continue;
      const typename By::Word a = words.of[first], b = words.of[second];
      if (By::before(b, a)) {
        words.of[first] = b;
        words.of[second] = a;
      }
    }
    // The pairs of a warp are of runs of 64.
    run_bit <= 6 ? sl_sync_warp() : sl_sync();
  }
  SL_INLINE void load() {
    SL_UNROLL_BY(1)
    for (int slot = sl_thread(); slot < kTile; slot += SL_THREADS) {
      if (has(slot)) words.of[slot] = By::word(p, line(slot), place(slot));
    }
    sl_sync();
  }
  SL_INLINE void store() const {
    sl_sync();
    SL_UNROLL_BY(1)
    for (int slot = sl_thread(); slot < kTile; slot += SL_THREADS) {
      if (!has(slot)) continue;
      const typename By::Line line = this->line(slot);
      line.y[place(slot) * p.inner] = By::result(p, line, words.of[slot]);
    }
  }
};

template <typename By, int kTile>
SL_INLINE void sl_sort_tiles(const sl_sort& p) {
  SL_SHARED typename sl_tile<By, kTile>::Words words;
  sl_tile<By, kTile> tile(p, words);
  tile.load();
  SL_UNROLL_BY(1)
  for (int run_bit = 1; run_bit <= tile.bit; ++run_bit) {
    if (run_bit == 7) sl_sync();
    SL_UNROLL_BY(1)
    for (int distance_bit = run_bit - 1; distance_bit >= 0; --distance_bit) {
      tile.step(run_bit, distance_bit, distance_bit == run_bit - 1);
    }
  }
  tile.store();
}
)sluice";

// sl_sort of the text.
struct SortArguments : LinesArguments {
  uint64_t reverse;
  int64_t tile_bit;
  int64_t first_block = 0;

  SortArguments(const SortAttributes& attributes, absl::Span<void* const> buffers)
      : LinesArguments(attributes.lines,
                       static_cast<const char*>(buffers[0]) +
                           attributes.offset * static_cast<int64_t>(size_of(attributes.dtype)),
                       buffers[1]),
        reverse(attributes.descending ? ~uint64_t{0} : 0),
        tile_bit(std::bit_width(static_cast<uint64_t>(length) - 1)) {}
};

class SortRunner : public LibraryRunner {
 public:
  explicit SortRunner(const LibraryDevice& device)
      : radix_(device), selection_(device), kernels_(device.context, device.compiler) {}

  absl::Status prepare(const fusion::LibraryCall& call) override {
    const SortAttributes& attributes = fusion::sort_of(call);
    if (attributes.result == SortResult::kFirst) return selection_.prepare(attributes);
    if (RadixSort::is_for(attributes)) return radix_.prepare(attributes);
    return kernel(attributes).compile();
  }

  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label) override {
    const SortAttributes& attributes = fusion::sort_of(call);
    const int64_t length = attributes.lines.length, lines = attributes.lines.lines;
    if (length == 0 || lines == 0) return absl::OkStatus();
    if (attributes.result == SortResult::kFirst) {
      return selection_.enqueue(stream, attributes, buffers, label);
    }
    if (RadixSort::is_for(attributes)) return radix_.enqueue(stream, attributes, buffers, label);
    SortArguments arguments(attributes, buffers);
    return kernel(attributes)
        .launch(stream, &arguments, ceil_div(lines, int64_t{kTile >> arguments.tile_bit}), label);
  }

 private:
  SourceKernel& kernel(const SortAttributes& attributes) {
    const bool is_values = attributes.result == SortResult::kValues;
    const std::string name =
        absl::StrCat(is_values ? "sort_" : "argsort_", sluice::name_of(attributes.dtype));
    const char* const by = !is_values                   ? "sl_positions"
                           : is_float(attributes.dtype) ? "sl_stable_values"
                                                        : "sl_values";
    return kernels_.get(name, [&] {
      return absl::StrCat(kLinesText, kOrderText, kSortText, "SL_KERNEL(", name,
                          ", sl_sort) { sl_sort_tiles<", by, "<", order_type(attributes.dtype),
                          ">, ", kTile, ">(p); }\n");
    });
  }

  RadixSort radix_;
  Selection selection_;
  SourceKernels kernels_;
};

}  // namespace

std::unique_ptr<LibraryRunner> make_sort_runner(const LibraryDevice& device) {
  return std::make_unique<SortRunner>(device);
}

}  // namespace sluice::kernels::cuda
