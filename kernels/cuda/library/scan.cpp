// Cumulative sums and products on a GPU.
#include "fusion/library/scan.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "kernels/cuda/library/library.h"
#include "kernels/gpu/emit/types.h"
#include "kernels/gpu/run/call.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

// Lines of at least this length are scanned by a block each, others by a thread each. The order in
// which elements combine depends on the length alone.
constexpr int64_t kBlockLine = 1024;
constexpr int kItems = 8;  // consecutive elements of a line that a thread of a block has at a time

constexpr const char* kText = R"sluice(
// ---- Scans. kernels/cuda/library/scan.cpp fills in sl_scan.

struct sl_scan {
  const void* x;
  void* y;
  sl_i64 length, stride, inner, lines;
  sl_i64 rank, extents[8], strides[8];
  sl_i64 first_block;  // of this launch
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
// As sl_groups takes it.
template <typename T, typename Op>
struct sl_combine {
  typedef T Type;
  SL_INLINE static T identity() { return Op::template identity<T>(); }
  SL_INLINE static T combine(T a, T b) { return Op::combine(a, b); }
};

// A line: where it begins in x and y.
template <typename M>
struct sl_line {
  const M* x;
  M* y;

  SL_INLINE sl_line(const sl_scan& p, sl_i64 line)
      : x((const M*)p.x), y((M*)p.y + line / p.inner * p.length * p.inner + line % p.inner) {
    for (sl_i64 k = p.rank - 1; k >= 0; --k) {
      x += line % p.extents[k] * p.strides[k];
      line /= p.extents[k];
    }
  }
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
struct Arguments {
  const void* x;
  void* y;
  int64_t length, stride, inner, lines;
  int64_t rank, extents[kMaxRank], strides[kMaxRank];
  int64_t first_block = 0;

  Arguments(const fusion::ScanAttributes& attributes, absl::Span<void* const> buffers)
      : x(static_cast<const char*>(buffers[0]) +
          attributes.offset * static_cast<int64_t>(size_of(attributes.dtype))),
        y(buffers[1]),
        length(attributes.shape.length),
        stride(attributes.shape.stride),
        inner(attributes.shape.inner),
        lines(attributes.shape.lines),
        rank(attributes.shape.rank) {
    std::copy_n(attributes.shape.extents.begin(), kMaxRank, extents);
    std::copy_n(attributes.shape.strides.begin(), kMaxRank, strides);
  }
};

bool is_by_block(const fusion::ScanShape& shape) { return shape.length >= kBlockLine; }

// "scan_sum_float32_by_block".
std::string name_of(const fusion::ScanAttributes& attributes) {
  return absl::StrCat("scan_", attributes.shape.multiplies ? "product_" : "sum_",
                      sluice::name_of(attributes.dtype),
                      is_by_block(attributes.shape) ? "_by_block" : "_by_thread");
}

std::string text_of(const std::string& name, const fusion::ScanAttributes& attributes) {
  const bool by_block = is_by_block(attributes.shape);
  // Signed integers wrap as unsigned ones do.
  const DType dtype = attributes.dtype == DType::kInt64 ? DType::kUInt64 : attributes.dtype;
  return absl::StrCat(kText, "SL_KERNEL(", name, ", sl_scan) { sl_scan_by_",
                      by_block ? "block" : "thread", "<", memory_type(dtype), ", ",
                      attributes.shape.multiplies ? "sl_product" : "sl_sum",
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
    Arguments arguments(attributes, buffers);
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
