// Scatters on a GPU.
//
// A block has a range of rows. It copies them and then goes through all positions, in order, for
// those of its own: no two blocks write an element, and the order of additions is the same as on
// the CPU. Of a block's elements each belongs to one thread.
#include "fusion/library/scatter.h"

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

// Every block reads all positions: so many blocks fill a GPU, more would only read more.
constexpr int64_t kMaxBlocks = 1024;

using fusion::ScatterMode;

constexpr const char* kScatterText = R"sluice(
// ---- Scatters. kernels/cuda/library/scatter.cpp fills in sl_scatter.

struct sl_strided {
  const void* base;
  sl_i64 row, column;
};
struct sl_scatter {
  sl_strided x, positions, updates;
  void* y;
  sl_i64 rows, columns, count;
  sl_i64 rows_of_block;
  sl_i64 first_block;  // of this launch
};

struct sl_set {
  template <typename T> SL_INLINE static T combine(T, T b) { return b; }
};
struct sl_add {
  template <typename T> SL_INLINE static T combine(T a, T b) { return a + b; }
};
// As maximum and minimum: NaN wins, and +0 is greater than -0, as is the sum of both.
struct sl_max {
  template <typename T> SL_INLINE static T combine(T a, T b) {
    return a < b || b != b ? b : a == 0 && b == 0 ? T(a + b) : a;
  }
};
struct sl_min {
  template <typename T> SL_INLINE static T combine(T a, T b) {
    return b < a || b != b ? b : a == 0 && b == 0 ? T(-(-a - b)) : a;
  }
};

// The positions among SL_THREADS of them that are rows of this block, in order.
struct sl_found {
  sl_i64 row[SL_THREADS];  // of each thread's position, -1 if it is another block's
  int count[SL_THREADS / 32];
  sl_i64 rows[SL_THREADS];
  int at[SL_THREADS];
};

template <typename M, typename Op>
SL_INLINE void sl_scatter_rows(const sl_scatter& p) {
  SL_SHARED sl_found found;
  const sl_i64 first = (p.first_block + sl_block()) * p.rows_of_block;
  const sl_i64 rows = p.rows - first < p.rows_of_block ? p.rows - first : p.rows_of_block;
  const M* const x = (const M*)p.x.base + first * p.x.row;
  M* const y = (M*)p.y + first * p.columns;
  SL_UNROLL_BY(1)
  for (sl_i64 e = sl_thread(); e < rows * p.columns; e += SL_THREADS) {
    y[e] = x[e / p.columns * p.x.row + e % p.columns * p.x.column];
  }
  SL_UNROLL_BY(1)
  for (sl_i64 begin = 0; begin < p.count; begin += SL_THREADS) {
    const sl_i64 i = begin + sl_thread();
    sl_i64 row = -1;
    if (i < p.count) row = ((const sl_i64*)p.positions.base)[i * p.positions.row] - first;
    found.row[sl_thread()] = row < rows ? row : -1;
    sl_sync();
    const int group = sl_thread();
    if (group < SL_THREADS / 32) {
      int count = 0;
      SL_UNROLL_BY(1)
      for (int k = 0; k < 32; ++k) count += found.row[group * 32 + k] >= 0;
      found.count[group] = count;
    }
    sl_sync();
    int total = 0;
    SL_UNROLL_BY(1)
    for (int k = 0; k < SL_THREADS / 32; ++k) {
      if (k == group) {
        int next = total;
        SL_UNROLL_BY(1)
        for (int l = group * 32; l < group * 32 + 32; ++l) {
          if (found.row[l] < 0) continue;
          found.rows[next] = found.row[l];
          found.at[next++] = l;
        }
      }
      total += found.count[k];
    }
    sl_sync();
    SL_UNROLL_BY(1)
    for (int k = 0; k < total; ++k) {
      const sl_i64 start = found.rows[k] * p.columns;
      const M* const from = (const M*)p.updates.base + (begin + found.at[k]) * p.updates.row;
      sl_i64 column = (sl_thread() - start) % SL_THREADS;  // y's element belongs to this thread
      if (column < 0) column += SL_THREADS;
      SL_UNROLL_BY(1)
      for (; column < p.columns; column += SL_THREADS) {
        M* const to = y + start + column;
        sl_store(to, Op::combine(sl_load(to), sl_load(from + column * p.updates.column)));
      }
    }
    sl_sync();  // what is found is read
  }
}
)sluice";

// sl_scatter of the text.
struct ScatterArguments {
  struct Matrix {
    const void* base;
    int64_t row, column;

    Matrix(const void* buffer, const fusion::Strided& strided, DType dtype)
        : base(static_cast<const char*>(buffer) +
               strided.offset * static_cast<int64_t>(size_of(dtype))),
          row(strided.row),
          column(strided.column) {}
  };
  Matrix x, positions, updates;
  void* y;
  int64_t rows, columns, count;
  int64_t rows_of_block;
  int64_t first_block = 0;

  ScatterArguments(const fusion::ScatterAttributes& attributes, absl::Span<void* const> buffers)
      : x(buffers[0], attributes.x, attributes.dtype),
        positions(buffers[1], attributes.positions, DType::kInt64),
        updates(buffers[2], attributes.updates, attributes.dtype),
        y(buffers[3]),
        rows(attributes.rows),
        columns(attributes.columns),
        count(attributes.count),
        rows_of_block(std::max<int64_t>(1, ceil_div(rows, kMaxBlocks))) {}
};

// What is only moved is of any type of its size; signed integers wrap as unsigned ones do.
DType stored_dtype(const fusion::ScatterAttributes& attributes) {
  const bool is_compared =
      attributes.mode == ScatterMode::kMax || attributes.mode == ScatterMode::kMin;
  const bool is_added = attributes.mode == ScatterMode::kAdd;
  if (is_compared || (is_added && is_float(attributes.dtype))) return attributes.dtype;
  switch (size_of(attributes.dtype)) {
    case 1: return DType::kUInt8;
    case 2: return DType::kUInt16;
    case 4: return DType::kUInt32;
    default: return DType::kUInt64;
  }
}

class ScatterRunner : public LibraryRunner {
 public:
  explicit ScatterRunner(const LibraryDevice& device) : kernels_(device.context, device.compiler) {}

  absl::Status prepare(const fusion::LibraryCall& call) override {
    return kernel(fusion::scatter_of(call)).compile();
  }

  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label) override {
    const fusion::ScatterAttributes& attributes = fusion::scatter_of(call);
    ScatterArguments arguments(attributes, buffers);
    return kernel(attributes)
        .launch(stream, &arguments, ceil_div(arguments.rows, arguments.rows_of_block), label);
  }

 private:
  SourceKernel& kernel(const fusion::ScatterAttributes& attributes) {
    const DType dtype = stored_dtype(attributes);
    constexpr const char* kOps[] = {"sl_set", "sl_add", "sl_max", "sl_min"};
    const char* const op = kOps[static_cast<int>(attributes.mode)];
    const std::string name = absl::StrCat("scatter_", op + 3, "_", sluice::name_of(dtype));
    return kernels_.get(
        name, absl::StrCat(kScatterText, "SL_KERNEL(", name, ", sl_scatter) { sl_scatter_rows<",
                           memory_type(dtype), ", ", op, ">(p); }\n"));
  }

  SourceKernels kernels_;
};

}  // namespace

std::unique_ptr<LibraryRunner> make_scatter_runner(const LibraryDevice& device) {
  return std::make_unique<ScatterRunner>(device);
}

}  // namespace sluice::kernels::cuda
