// Scatters on a GPU.
//
// The order in which an element's updates are combined is that of the positions, as on the CPU.
//
// Where there are few positions or few rows, a block has a range of rows. It copies them and then
// goes through all positions, in order, for those of its own: no two blocks write an element. Of a
// block's elements each belongs to one thread. Else positions are sorted, and each thread combines
// an element with the updates of its row.
#include "fusion/library/scatter.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/library/radix_sort.h"
#include "kernels/gpu/emit/types.h"
#include "kernels/gpu/run/call.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

// Every block reads all positions: so many blocks fill a GPU, more would only read more.
constexpr int64_t kMaxBlocks = 1024;
// From so many on they are sorted, if each row has few.
constexpr int64_t kManyPositions = 4096, kManyRows = 64;

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
  sl_u32* keys;    // the positions; `rows` stands for those outside
  sl_i64* order;   // of the positions, sorted
  sl_u32* starts;  // of the rows there, and where the last one ends
  sl_i64 first_block;  // of this launch
};

struct sl_set {
  static constexpr bool kLastWins = true;
  template <typename T> SL_INLINE static T combine(T, T b) { return b; }
};
struct sl_add {
  static constexpr bool kLastWins = false;
  template <typename T> SL_INLINE static T combine(T a, T b) { return a + b; }
};
// As maximum and minimum: NaN wins, and +0 is greater than -0, as is the sum of both.
struct sl_max {
  static constexpr bool kLastWins = false;
  template <typename T> SL_INLINE static T combine(T a, T b) {
    return a < b || b != b ? b : a == 0 && b == 0 ? T(a + b) : a;
  }
};
struct sl_min {
  static constexpr bool kLastWins = false;
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

SL_INLINE sl_i64 sl_number(const sl_scatter& p) {
  return (p.first_block + sl_block()) * SL_THREADS + sl_thread();
}
SL_INLINE void sl_scatter_keys(const sl_scatter& p) {
  const sl_i64 i = sl_number(p);
  if (i >= p.count) return;
  const sl_i64 row = ((const sl_i64*)p.positions.base)[i * p.positions.row];
  p.keys[i] = sl_u32(row >= 0 && row < p.rows ? row : p.rows);
}
SL_INLINE void sl_scatter_starts(const sl_scatter& p) {
  const sl_i64 row = sl_number(p);
  if (row > p.rows) return;
  sl_i64 low = 0, high = p.count;
  while (low < high) {
    const sl_i64 middle = (low + high) / 2;
    if (p.keys[p.order[middle]] < row)
      low = middle + 1;
    else
      high = middle;
  }
  p.starts[row] = sl_u32(low);
}
// A thread for each kLanes columns of a row; several are consecutive and aligned.
template <typename M, typename Op, int kLanes>
SL_INLINE void sl_scatter_elements(const sl_scatter& p) {
  typedef decltype(sl_decode(M())) T;
  const sl_i64 number = sl_number(p), threads_of_row = p.columns / kLanes;
  if (number >= p.rows * threads_of_row) return;
  const sl_i64 row = number / threads_of_row, column = (number - row * threads_of_row) * kLanes;
  const M* const updates = (const M*)p.updates.base + column * p.updates.column;
  T y[kLanes];
  sl_load_vector(y, (const M*)p.x.base + row * p.x.row + column * p.x.column);
  const sl_i64 end = p.starts[row + 1];
  sl_i64 k = p.starts[row];
  if (Op::kLastWins && k < end) k = end - 1;
  SL_UNROLL_BY(4)
  for (; k < end; ++k) {
    T update[kLanes];
    sl_load_vector(update, updates + p.order[k] * p.updates.row);
    SL_UNROLL
    for (int l = 0; l < kLanes; ++l) y[l] = Op::combine(y[l], update[l]);
  }
  sl_store_vector((M*)p.y + row * p.columns + column, y);
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
  uint32_t* keys = nullptr;
  int64_t* order = nullptr;
  uint32_t* starts = nullptr;
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

  // Whether each `lanes` columns of a row are consecutive and aligned in x, updates and y.
  bool has_vectors(int lanes, size_t element_bytes) const {
    const auto is_aligned = [&](const void* base, int64_t row) {
      return reinterpret_cast<uintptr_t>(base) % (lanes * element_bytes) == 0 && row % lanes == 0;
    };
    return x.column == 1 && updates.column == 1 && is_aligned(x.base, x.row) &&
           is_aligned(updates.base, updates.row) && is_aligned(y, columns);
  }
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

// Of a vector of 16 bytes.
int lanes_of(const fusion::ScatterAttributes& attributes) {
  return static_cast<int>(16 / size_of(attributes.dtype));
}

bool sorts_positions(const fusion::ScatterAttributes& attributes) {
  return attributes.count >= kManyPositions && attributes.rows >= kManyRows &&
         std::max(attributes.count, attributes.rows) < std::numeric_limits<uint32_t>::max();
}

// Of the keys, to be sorted.
fusion::SortAttributes keys_of(const fusion::ScatterAttributes& attributes) {
  fusion::SortAttributes keys;
  keys.dtype = DType::kUInt32;
  keys.result = fusion::SortResult::kPositions;
  keys.count = keys.lines.length = attributes.count;
  keys.lines.stride = keys.lines.inner = keys.lines.lines = 1;
  return keys;
}

class ScatterRunner : public LibraryRunner {
 public:
  explicit ScatterRunner(const LibraryDevice& device)
      : radix_(device), kernels_(device.context, device.compiler) {}

  absl::Status prepare(const fusion::LibraryCall& call) override {
    const fusion::ScatterAttributes& attributes = fusion::scatter_of(call);
    if (!sorts_positions(attributes)) return kernel(attributes, Pass::kRows).compile();
    absl::Status status = radix_.prepare(keys_of(attributes));
    for (const Pass pass : {Pass::kKeys, Pass::kStarts, Pass::kElements, Pass::kVectors}) {
      if (status.ok()) status = kernel(attributes, pass).compile();
    }
    return status;
  }

  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label) override {
    const fusion::ScatterAttributes& attributes = fusion::scatter_of(call);
    ScatterArguments arguments(attributes, buffers);
    if (sorts_positions(attributes)) return enqueue_sorted(stream, attributes, arguments, label);
    return kernel(attributes, Pass::kRows)
        .launch(stream, &arguments, ceil_div(arguments.rows, arguments.rows_of_block), label);
  }

 private:
  enum class Pass { kRows, kKeys, kStarts, kElements, kVectors };

  absl::Status enqueue_sorted(runtime::cuda::CudaStream* stream,
                              const fusion::ScatterAttributes& attributes,
                              ScatterArguments arguments, absl::string_view label) {
    const auto count = static_cast<size_t>(attributes.count);
    const auto rows = static_cast<size_t>(attributes.rows);
    runtime::cuda::DeviceAllocator& allocator = stream->device().allocator();
    const absl::StatusOr<void*> memory = allocator.allocate(12 * count + 4 * (rows + 1), stream);
    if (!memory.ok()) return memory.status();
    arguments.order = static_cast<int64_t*>(*memory);
    arguments.keys = reinterpret_cast<uint32_t*>(arguments.order + count);
    arguments.starts = arguments.keys + count;

    absl::Status status;
    const auto launch = [&](Pass pass, int64_t threads) {
      arguments.first_block = 0;
      if (!status.ok()) return;
      status = kernel(attributes, pass)
                   .launch(stream, &arguments, ceil_div(threads, int64_t{kThreads}), label);
    };
    launch(Pass::kKeys, attributes.count);
    if (status.ok()) {
      void* const of_keys[] = {arguments.keys, arguments.order};
      status = radix_.enqueue(stream, keys_of(attributes), of_keys, label, std::bit_width(rows));
    }
    launch(Pass::kStarts, attributes.rows + 1);
    const int lanes = lanes_of(attributes);
    const bool has_vectors = arguments.has_vectors(lanes, size_of(attributes.dtype));
    launch(has_vectors ? Pass::kVectors : Pass::kElements,
           attributes.rows * attributes.columns / (has_vectors ? lanes : 1));
    // Later work on the stream may reuse it.
    allocator.free(*memory);
    return status;
  }

  SourceKernel& kernel(const fusion::ScatterAttributes& attributes, Pass pass) {
    if (pass == Pass::kKeys || pass == Pass::kStarts) {
      const std::string name = pass == Pass::kKeys ? "scatter_keys" : "scatter_starts";
      return kernels_.get(name, [&] {
        return absl::StrCat(kScatterText, "SL_KERNEL(", name, ", sl_scatter) { sl_", name,
                            "(p); }\n");
      });
    }
    const DType dtype = stored_dtype(attributes);
    const char* const what = pass == Pass::kRows      ? "rows"
                             : pass == Pass::kVectors ? "vectors"
                                                      : "elements";
    const std::string lanes =
        pass == Pass::kRows ? ""
                            : absl::StrCat(", ", pass == Pass::kVectors ? lanes_of(attributes) : 1);
    constexpr const char* kOps[] = {"sl_set", "sl_add", "sl_max", "sl_min"};
    const char* const op = kOps[static_cast<int>(attributes.mode)];
    const std::string name =
        absl::StrCat("scatter_", what, "_", op + 3, "_", sluice::name_of(dtype));
    return kernels_.get(name, [&] {
      return absl::StrCat(kScatterText, "SL_KERNEL(", name, ", sl_scatter) { sl_scatter_",
                          pass == Pass::kRows ? "rows" : "elements", "<", memory_type(dtype), ", ",
                          op, lanes, ">(p); }\n");
    });
  }

  RadixSort radix_;
  SourceKernels kernels_;
};

}  // namespace

std::unique_ptr<LibraryRunner> make_scatter_runner(const LibraryDevice& device) {
  return std::make_unique<ScatterRunner>(device);
}

}  // namespace sluice::kernels::cuda
