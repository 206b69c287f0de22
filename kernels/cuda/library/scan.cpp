// Cumulative sums, products and the like on a GPU.
#include "fusion/library/scan.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/library/lines.h"
#include "kernels/gpu/emit/types.h"
#include "kernels/gpu/run/call.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

// Lines of at least this length are scanned by a block each, others by a thread each. The order in
// which elements combine depends on the length alone.
constexpr int64_t kBlockLine = 1024;
constexpr int kItems = 8;  // consecutive elements of a line that a thread of a block has at a time

constexpr const char* kScanText = R"sluice(
// ---- Scans. kernels/cuda/library/scan.cpp fills in sl_scan.

struct sl_scan : sl_lines {
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

// A block for each line. It goes through the line by pieces of kItems elements a thread: each thread
// scans its own, then their totals are scanned in shared memory.
template <typename M, typename Op, int kItems>
SL_INLINE void sl_scan_by_block(const sl_scan& p) {
  typedef decltype(sl_decode(M())) T;
  struct Totals { T of[2][SL_THREADS]; };
  SL_SHARED Totals totals;
  const sl_line<M> line(p, p.first_block + sl_block());
  sl_groups<sl_combine<T, Op>> pieces;  // all earlier ones
  SL_UNROLL_BY(1)
  for (sl_i64 piece = 0; piece < p.length; piece += SL_THREADS * kItems) {
    const sl_i64 first = piece + sl_thread() * kItems;
    T values[kItems];
    T total = Op::template identity<T>();
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      if (first + i < p.length) total = Op::combine(total, sl_load(line.x + (first + i) * p.stride));
      values[i] = total;
    }
    int half = 0;
    totals.of[0][sl_thread()] = total;
    sl_sync();
    SL_UNROLL_BY(1)
    for (int distance = 1; distance < SL_THREADS; distance *= 2) {
      T sum = totals.of[half][sl_thread()];
      if (sl_thread() >= distance) {
        sum = Op::combine(totals.of[half][sl_thread() - distance], sum);
      }
      half ^= 1;
      totals.of[half][sl_thread()] = sum;
      sl_sync();
    }
    T earlier = pieces.total();
    if (sl_thread() > 0) earlier = Op::combine(earlier, totals.of[half][sl_thread() - 1]);
    pieces.add(totals.of[half][SL_THREADS - 1]);
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      if (first + i < p.length) {
        sl_store(line.y + (first + i) * p.inner, Op::combine(earlier, values[i]));
      }
    }
    sl_sync();  // the totals are read
  }
}
)sluice";

// sl_scan of the text.
struct ScanArguments : LinesArguments {
  int64_t first_block = 0;

  ScanArguments(const fusion::ScanAttributes& attributes, absl::Span<void* const> buffers)
      : LinesArguments(attributes.shape,
                       static_cast<const char*>(buffers[0]) +
                           attributes.offset * static_cast<int64_t>(size_of(attributes.dtype)),
                       buffers[1]) {}
};

bool is_by_block(const fusion::ScanShape& shape) { return shape.length >= kBlockLine; }

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

// "scan_sum_float32_by_block".
std::string name_of(const fusion::ScanAttributes& attributes) {
  return absl::StrCat("scan_", kind_of(attributes.shape.kind).name, "_",
                      sluice::name_of(attributes.dtype),
                      is_by_block(attributes.shape) ? "_by_block" : "_by_thread");
}

std::string text_of(const std::string& name, const fusion::ScanAttributes& attributes) {
  const bool by_block = is_by_block(attributes.shape);
  // Signed integers wrap as unsigned ones do.
  const bool wraps = attributes.shape.kind == fusion::ScanKind::kSum ||
                     attributes.shape.kind == fusion::ScanKind::kProduct;
  const DType dtype =
      wraps && attributes.dtype == DType::kInt64 ? DType::kUInt64 : attributes.dtype;
  return absl::StrCat(kLinesText, kScanText, "SL_KERNEL(", name, ", sl_scan) { sl_scan_by_",
                      by_block ? "block" : "thread", "<", memory_type(dtype), ", ",
                      kind_of(attributes.shape.kind).type,
                      by_block ? absl::StrCat(", ", kItems) : "", ">(p); }\n");
}

class ScanRunner : public LibraryRunner {
 public:
  explicit ScanRunner(const LibraryDevice& device) : kernels_(device.context, device.compiler) {}

  absl::Status prepare(const fusion::LibraryCall& call) override {
    return kernel(fusion::scan_of(call)).compile();
  }

  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label) override {
    const fusion::ScanAttributes& attributes = fusion::scan_of(call);
    ScanArguments arguments(attributes, buffers);
    const int64_t lines_of_block = is_by_block(attributes.shape) ? 1 : kThreads;
    return kernel(attributes)
        .launch(stream, &arguments, ceil_div(attributes.shape.lines, lines_of_block), label);
  }

 private:
  SourceKernel& kernel(const fusion::ScanAttributes& attributes) {
    const std::string name = name_of(attributes);
    return kernels_.get(name, text_of(name, attributes));
  }

  SourceKernels kernels_;
};

}  // namespace

std::unique_ptr<LibraryRunner> make_scan_runner(const LibraryDevice& device) {
  return std::make_unique<ScanRunner>(device);
}

}  // namespace sluice::kernels::cuda
