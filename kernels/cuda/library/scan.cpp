// Cumulative sums, products and the like on a GPU.
#include "fusion/library/scan.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/library/lines.h"
#include "kernels/gpu/emit/types.h"
#include "kernels/gpu/run/call.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

// Lines of less than kWarpLine elements are scanned by a thread each, of less than kBlockLine by a
// warp, others by blocks. Warps and blocks take a line by pieces of kScanItems consecutive elements
// a thread. Of a line of more than kFewPieces the pieces' totals are scanned as a line is, of fewer
// they are combined one after another. So the order in which elements combine depends on the length
// alone, whether one block takes a line or several.
constexpr int64_t kWarpLine = 32, kBlockLine = 2048;
constexpr int kScanItems = 8, kLanes = 32;
constexpr int64_t kScanPiece = kScanItems * kThreads;
constexpr int64_t kFewPieces = 16;

constexpr const char* kScanText = R"sluice(
// ---- Scans. kernels/cuda/library/scan.cpp fills in sl_scan.

struct sl_scan : sl_lines {
  sl_i64 pieces;       // of a line
  void* totals;        // of all lines' pieces; then what comes before each
  sl_i64 first_block;  // of this launch
};

template <typename T> struct sl_limits;
template <> struct sl_limits<float> {
  SL_INLINE static float least() { return sl_as_f32(0xff800000u); }
  SL_INLINE static float greatest() { return sl_as_f32(0x7f800000u); }
};
template <> struct sl_limits<double> {
  SL_INLINE static double least() { return sl_as_f64(0xfff0000000000000ull); }
  SL_INLINE static double greatest() { return sl_as_f64(0x7ff0000000000000ull); }
};
template <> struct sl_limits<sl_i64> {
  SL_INLINE static sl_i64 least() { return sl_i64(1ull << 63); }
  SL_INLINE static sl_i64 greatest() { return sl_i64(~0ull >> 1); }
};
template <> struct sl_limits<sl_u64> {
  SL_INLINE static sl_u64 least() { return 0; }
  SL_INLINE static sl_u64 greatest() { return ~0ull; }
};
// Identities: -0 and 1 leave every float as it is.
struct sl_sum {
  template <typename T> SL_INLINE static T identity() { return T(-0.f); }
  template <typename T> SL_INLINE static T combine(T a, T b) { return a + b; }
};
struct sl_product {
  template <typename T> SL_INLINE static T identity() { return T(1); }
  template <typename T> SL_INLINE static T combine(T a, T b) { return a * b; }
};
// NaN stays, and replaces what is there.
struct sl_greatest {
  template <typename T> SL_INLINE static T identity() { return sl_limits<T>::least(); }
  template <typename T> SL_INLINE static T combine(T a, T b) { return b > a || b != b ? b : a; }
};
struct sl_least {
  template <typename T> SL_INLINE static T identity() { return sl_limits<T>::greatest(); }
  template <typename T> SL_INLINE static T combine(T a, T b) { return b < a || b != b ? b : a; }
};
struct sl_log_sum_exp {
  template <typename T> SL_INLINE static T identity() { return sl_limits<T>::least(); }
  template <typename T> SL_INLINE static T combine(T a, T b) {
    if (a == b) return a + T(0.6931471805599453);
    return (b > a ? b : a) + sl_log1p(sl_exp(-sl_abs(a - b)));
  }
};
// As sl_groups takes it.
template <typename T, typename Op>
struct sl_combine {
  typedef T Type;
  SL_INLINE static T identity() { return Op::template identity<T>(); }
  SL_INLINE static T combine(T a, T b) { return Op::combine(a, b); }
};

// A thread for each line, which it cuts into leaves of so many elements.
constexpr int kLeaf = 16;
template <typename M, typename Op>
SL_INLINE void sl_scan_by_thread(const sl_scan& p) {
  typedef decltype(sl_decode(M())) T;
  const sl_i64 number = (p.first_block + sl_block()) * SL_THREADS + sl_thread();
  if (number >= p.lines) return;
  const sl_line<M> line(p, number);
  sl_groups<sl_combine<T, Op>> leaves;
  SL_UNROLL_BY(1)
  for (sl_i64 leaf = 0; leaf < p.length; leaf += kLeaf) {
    const sl_i64 end = p.length - leaf < kLeaf ? p.length : leaf + kLeaf;
    const T before = leaves.total();
    T total = Op::template identity<T>();
    SL_UNROLL_BY(4)
    for (sl_i64 i = leaf; i < end; ++i) {
      total = Op::combine(total, sl_load(line.x + i * p.stride));
      sl_store(line.y + i * p.inner, Op::combine(before, total));
    }
    leaves.add(total);
  }
}

// A part of a line, for a team of threads, a warp or a block: kItems consecutive elements for each.
template <typename Op, typename T, int kItems, int kTeam>
struct sl_piece {
  static constexpr int kWarps = kTeam / 32, kSize = kTeam * kItems;
  // Of a warp. Neither consecutive elements nor those of kItems apart share a bank.
  static constexpr int kBanks = 128 / sizeof(T);
  struct Elements { T of[32 * kItems + 32 * kItems / kBanks]; };
  struct Shared {
    Elements elements[kWarps];
    T totals[kWarps];
  };
  T values[kItems];  // what this thread's elements combine to, up to each
  T before;          // what earlier threads' do
  T total;           // what all do
  Shared& shared;

  SL_INLINE explicit sl_piece(Shared& shared) : shared(shared) {}

  SL_INLINE static int lane() { return sl_thread() % 32; }
  SL_INLINE static int warp() { return sl_thread() % kTeam / 32; }
  SL_INLINE T& element(int i) { return shared.elements[warp()].of[i + i / kBanks]; }
  // A warp's accesses to memory are consecutive: elements get to their threads in shared memory.
  template <typename M>
  SL_INLINE void load(const M* x, sl_i64 stride, sl_i64 begin, sl_i64 length) {
    const int first = warp() * 32 * kItems + lane(), size = size_of(begin, length);
    const auto read = [&](sl_i64 stride) SL_LAMBDA {
      const M* const from = x + (begin + first) * stride;
      SL_UNROLL
      for (int i = 0; i < kItems; ++i) {
        values[i] = Op::template identity<T>();
        if (first + i * 32 < size) values[i] = sl_load(from + i * 32 * stride);
      }
    };
    stride == 1 ? read(1) : read(stride);
    sl_sync_warp();
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) element(i * 32 + lane()) = values[i];
    sl_sync_warp();
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) values[i] = element(lane() * kItems + i);
  }
  template <typename M>
  SL_INLINE void store(M* y, sl_i64 stride, sl_i64 begin, sl_i64 length, T earlier) {
    const int first = warp() * 32 * kItems + lane(), size = size_of(begin, length);
    const T all = Op::combine(earlier, before);
    sl_sync_warp();
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) element(lane() * kItems + i) = Op::combine(all, values[i]);
    sl_sync_warp();
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) values[i] = element(i * 32 + lane());
    const auto write = [&](sl_i64 stride) SL_LAMBDA {
      M* const to = y + (begin + first) * stride;
      SL_UNROLL
      for (int i = 0; i < kItems; ++i) {
        M m;
        sl_encode(m, values[i]);
        if (first + i * 32 < size) to[i * 32 * stride] = m;
      }
    };
    stride == 1 ? write(1) : write(stride);
  }
  SL_INLINE static int size_of(sl_i64 begin, sl_i64 length) {
    return length - begin < kSize ? int(length - begin) : kSize;
  }
  // All threads of the team.
  SL_INLINE void scan() {
    SL_UNROLL
    for (int i = 1; i < kItems; ++i) values[i] = Op::combine(values[i - 1], values[i]);
    T upto = values[kItems - 1];
    SL_UNROLL
    for (int distance = 1; distance < 32; distance *= 2) {
      const T other = sl_shuffle(upto, lane() - distance);
      if (lane() >= distance) upto = Op::combine(other, upto);
    }
    before = sl_shuffle(upto, lane() - 1);
    if (lane() == 0) before = Op::template identity<T>();
    if (kWarps == 1) {
      total = sl_shuffle(upto, 31);
      return;
    }
    if (lane() == 31) shared.totals[warp()] = upto;
    sl_sync();
    total = Op::template identity<T>();
    T earlier = total;
    SL_UNROLL
    for (int k = 0; k < kWarps; ++k) {
      if (k == warp()) earlier = total;
      total = Op::combine(total, shared.totals[k]);
    }
    before = Op::combine(earlier, before);
    sl_sync();  // the totals are read
  }
};

// A team for each line of few pieces.
template <typename M, typename Op, int kItems, int kTeam>
SL_INLINE void sl_scan_by_team(const sl_scan& p) {
  typedef decltype(sl_decode(M())) T;
  typedef sl_piece<Op, T, kItems, kTeam> Piece;
  constexpr int kTeams = SL_THREADS / kTeam;
  SL_SHARED typename Piece::Shared shared[kTeams];
  const int team = sl_thread() / kTeam;
  const sl_i64 number = (p.first_block + sl_block()) * kTeams + team;
  if (number >= p.lines) return;
  const sl_line<M> line(p, number);
  T earlier = Op::template identity<T>();
  SL_UNROLL_BY(1)
  for (sl_i64 begin = 0; begin < p.length; begin += Piece::kSize) {
    Piece piece(shared[team]);
    piece.load(line.x, p.stride, begin, p.length);
    piece.scan();
    piece.store(line.y, p.inner, begin, p.length, earlier);
    earlier = Op::combine(earlier, piece.total);
  }
}

// A block for each piece: its total.
template <typename M, typename Op, int kItems>
SL_INLINE void sl_scan_totals(const sl_scan& p) {
  typedef decltype(sl_decode(M())) T;
  typedef sl_piece<Op, T, kItems, SL_THREADS> Piece;
  SL_SHARED typename Piece::Shared shared;
  const sl_i64 block = p.first_block + sl_block();
  const sl_line<M> line(p, block / p.pieces);
  Piece piece(shared);
  piece.load(line.x, p.stride, block % p.pieces * Piece::kSize, p.length);
  piece.scan();
  if (sl_thread() == 0) ((T*)p.totals)[block] = piece.total;
}

// A block for each line of many pieces: what comes before each, in place of its total.
template <typename M, typename Op, int kItems>
SL_INLINE void sl_scan_before(const sl_scan& p) {
  typedef decltype(sl_decode(M())) T;
  typedef sl_piece<Op, T, kItems, SL_THREADS> Piece;
  SL_SHARED typename Piece::Shared shared;
  T* const totals = (T*)p.totals + (p.first_block + sl_block()) * p.pieces;
  sl_groups<sl_combine<T, Op>> groups;  // of pieces before this one
  SL_UNROLL_BY(1)
  for (sl_i64 begin = 0; begin < p.pieces; begin += Piece::kSize) {
    Piece piece(shared);
    piece.load(totals, 1, begin, p.pieces);
    piece.scan();
    SL_UNROLL
    for (int i = kItems - 1; i > 0; --i) piece.values[i] = piece.values[i - 1];
    piece.values[0] = Op::template identity<T>();
    piece.store(totals, 1, begin, p.pieces, groups.total());
    groups.add(piece.total);
  }
}

// A block for each piece, which knows what comes before it.
template <typename M, typename Op, int kItems>
SL_INLINE void sl_scan_pieces(const sl_scan& p) {
  typedef decltype(sl_decode(M())) T;
  typedef sl_piece<Op, T, kItems, SL_THREADS> Piece;
  SL_SHARED typename Piece::Shared shared;
  const sl_i64 block = p.first_block + sl_block(), number = block % p.pieces;
  const sl_i64 begin = number * Piece::kSize;
  const sl_line<M> line(p, block / p.pieces);
  const T* const totals = (const T*)p.totals + block - number;
  Piece piece(shared);
  piece.load(line.x, p.stride, begin, p.length);
  piece.scan();
  T earlier = Op::template identity<T>();
  if (p.pieces > kFewPieces) {
    earlier = totals[number];
  } else {
    SL_UNROLL_BY(4)
    for (sl_i64 k = 0; k < number; ++k) earlier = Op::combine(earlier, totals[k]);
  }
  piece.store(line.y, p.inner, begin, p.length, earlier);
}
)sluice";

// sl_scan of the text.
struct ScanArguments : LinesArguments {
  int64_t pieces;
  void* totals = nullptr;
  int64_t first_block = 0;

  ScanArguments(const fusion::ScanAttributes& attributes, absl::Span<void* const> buffers)
      : LinesArguments(attributes.shape,
                       static_cast<const char*>(buffers[0]) +
                           attributes.offset * static_cast<int64_t>(size_of(attributes.dtype)),
                       buffers[1]),
        pieces(ceil_div(attributes.shape.length, kScanPiece)) {}
};

struct Kind {
  const char* name;
  const char* type;  // in the text
};
Kind kind_of(fusion::ScanKind kind) {
  switch (kind) {
    case fusion::ScanKind::kProduct: return {"product", "sl_product"};
    case fusion::ScanKind::kMax: return {"max", "sl_greatest"};
    case fusion::ScanKind::kMin: return {"min", "sl_least"};
    case fusion::ScanKind::kLogSumExp: return {"log_sum_exp", "sl_log_sum_exp"};
    default: return {"sum", "sl_sum"};
  }
}

class ScanRunner : public LibraryRunner {
 public:
  explicit ScanRunner(const LibraryDevice& device)
      : context_(*device.context), kernels_(device.context, device.compiler) {}

  absl::Status prepare(const fusion::LibraryCall& call) override {
    const fusion::ScanAttributes& attributes = fusion::scan_of(call);
    for (const Pass pass : passes(attributes.shape)) {
      const absl::Status status = kernel(attributes, pass).compile();
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label) override {
    const fusion::ScanAttributes& attributes = fusion::scan_of(call);
    const int64_t lines = attributes.shape.lines;
    ScanArguments arguments(attributes, buffers);
    const std::vector<Pass> passes = this->passes(attributes.shape);
    runtime::cuda::DeviceAllocator& allocator = stream->device().allocator();
    if (passes.size() > 1) {
      const auto bytes = static_cast<size_t>(lines * arguments.pieces) * sizeof(int64_t);
      const absl::StatusOr<void*> memory = allocator.allocate(bytes, stream);
      if (!memory.ok()) return memory.status();
      arguments.totals = *memory;
    }
    absl::Status status;
    for (size_t i = 0; status.ok() && i < passes.size(); ++i) {
      arguments.first_block = 0;
      const int64_t blocks = passes[i] == Pass::kThread ? ceil_div(lines, int64_t{kThreads})
                             : passes[i] == Pass::kWarp ? ceil_div(lines, kThreads / kLanes)
                             : is_of_pieces(passes[i])  ? lines * arguments.pieces
                                                        : lines;
      status = kernel(attributes, passes[i]).launch(stream, &arguments, blocks, label);
    }
    // Later work on the stream may reuse it.
    if (arguments.totals != nullptr) allocator.free(arguments.totals);
    return status;
  }

 private:
  // The kernels; the first three do all of it.
  enum class Pass { kThread, kWarp, kBlock, kTotals, kBefore, kPieces };
  static constexpr const char* kPassNames[] = {"by_thread", "by_warp", "by_block",
                                               "totals",    "before",  "pieces"};

  static bool is_of_pieces(Pass pass) { return pass == Pass::kTotals || pass == Pass::kPieces; }

  std::vector<Pass> passes(const fusion::ScanShape& shape) const {
    if (shape.length < kWarpLine) return {Pass::kThread};
    if (shape.length < kBlockLine) return {Pass::kWarp};
    const int64_t pieces = ceil_div(shape.length, kScanPiece);
    const bool fills_device = shape.lines >= 2 * context_.info().multiprocessors;
    if (pieces == 1 || (pieces <= kFewPieces && fills_device)) return {Pass::kBlock};
    if (pieces <= kFewPieces) return {Pass::kTotals, Pass::kPieces};
    return {Pass::kTotals, Pass::kBefore, Pass::kPieces};
  }

  // "scan_sum_float32_by_block".
  SourceKernel& kernel(const fusion::ScanAttributes& attributes, Pass pass) {
    const char* const what = kPassNames[static_cast<int>(pass)];
    const Kind kind = kind_of(attributes.shape.kind);
    const std::string name =
        absl::StrCat("scan_", kind.name, "_", sluice::name_of(attributes.dtype), "_", what);
    // Signed integers wrap as unsigned ones do.
    const bool wraps = attributes.shape.kind == fusion::ScanKind::kSum ||
                       attributes.shape.kind == fusion::ScanKind::kProduct;
    const DType dtype =
        wraps && attributes.dtype == DType::kInt64 ? DType::kUInt64 : attributes.dtype;
    const std::string items = absl::StrCat(", ", kScanItems);
    const std::string call = pass == Pass::kThread                         ? "by_thread<"
                             : is_of_pieces(pass) || pass == Pass::kBefore ? absl::StrCat(what, "<")
                                                                           : "by_team<";
    const std::string sizes = pass == Pass::kThread  ? ""
                              : pass == Pass::kWarp  ? absl::StrCat(items, ", ", kLanes)
                              : pass == Pass::kBlock ? absl::StrCat(items, ", ", kThreads)
                                                     : items;
    return kernels_.get(name, [&] {
      return absl::StrCat(kLinesText, "constexpr sl_i64 kFewPieces = ", kFewPieces, ";\n",
                          kScanText, "SL_KERNEL(", name, ", sl_scan) { sl_scan_", call,
                          memory_type(dtype), ", ", kind.type, sizes, ">(p); }\n");
    });
  }

  runtime::cuda::Context& context_;
  SourceKernels kernels_;
};

}  // namespace

std::unique_ptr<LibraryRunner> make_scan_runner(const LibraryDevice& device) {
  return std::make_unique<ScanRunner>(device);
}

}  // namespace sluice::kernels::cuda
