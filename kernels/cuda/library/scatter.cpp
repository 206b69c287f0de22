// Scatters on a GPU.
//
// The order in which an element's updates are combined is that of the positions, as on the CPU,
// unless it makes no difference.
//
// - Few positions for the blocks that a small y takes: a block has a range of rows and goes through
//   all positions, in order, for those of its own, which it sorts by row in shared memory.
// - Few positions in a large y: it becomes a copy, and each block sorts all positions.
// - Sums of integers are the same in any order: updates are added by atomics, in shared memory
//   first, by block, where all of y fits there.
// - Else positions are sorted.
//
// Where order matters, each thread then combines an element with the updates of its row, or if they
// are many a warp does, whose lanes read them.
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
#include "kernels/cuda/library/scatter_text.h"
#include "kernels/gpu/emit/types.h"
#include "kernels/gpu/run/call.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

// Of the way by rows. A block counts its rows by a digit, the last of which stands for none.
constexpr int64_t kMaxRowsOfBlock = 255, kMaxColumnsOfBlock = 1 << 20, kMinElementsOfBlock = 64;
// Every block reads all positions: of few there may be so many blocks, of all so many reads.
constexpr int64_t kFewPositions = 4096, kMaxBlocks = 1024, kMinBlocks = 128;
constexpr int64_t kMaxReads = int64_t{1} << 24;
// Each sorts all positions.
constexpr int64_t kMaxBlocksOfFew = 256;
// What so few threads may take long for: the elements of y, for few positions; the bytes of y and
// of the updates, for more.
constexpr int64_t kMaxElementsByRows = 1 << 16, kMaxBytesByRows = int64_t{8} << 20;
// So many positions for each row are many, if there are not enough elements for as many threads.
constexpr int64_t kLongRun = 64, kMaxElementsOfWarps = 1 << 14, kFewElements = 512;
// Of sums: how many elements of y fit in shared memory, and how many updates a block has at least.
constexpr int64_t kTable = 4096, kMinUpdatesOfBlock = 2048;

using fusion::ScatterMode;

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
  int64_t rows_of_block = 0, columns_of_block = 0, elements_of_block = 0, updates_of_block = 0;
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
        count(attributes.count) {}

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

// How y is divided among blocks.
struct Blocks {
  int64_t rows, columns;  // of each
  int64_t count;

  explicit Blocks(const fusion::ScatterAttributes& attributes) {
    const int64_t wanted =
        std::clamp(kMaxReads / std::max<int64_t>(1, attributes.count), kMinBlocks, kMaxBlocks);
    const int64_t worthwhile =
        ceil_div(kMinElementsOfBlock, std::max<int64_t>(1, attributes.columns));
    rows = std::min(std::max(ceil_div(attributes.rows, wanted), worthwhile), kMaxRowsOfBlock);
    const int64_t groups = ceil_div(attributes.rows, rows);
    // Whole vectors, and of all threads if there are so many.
    const int64_t parts = std::max<int64_t>(1, wanted / std::max<int64_t>(1, groups));
    const int64_t multiple = lanes_of(attributes) * kThreads;
    columns = std::clamp(ceil_div(ceil_div(attributes.columns, parts), multiple) * multiple,
                         multiple, kMaxColumnsOfBlock);
    count = groups * ceil_div(attributes.columns, columns);
  }
};

bool has_long_runs(const fusion::ScatterAttributes& attributes) {
  return attributes.mode != ScatterMode::kSet && attributes.count >= kLongRun * attributes.rows &&
         attributes.rows * attributes.columns <= kMaxElementsOfWarps;
}

enum class Way { kRows, kFew, kTable, kSums, kSorted };

Way way_of(const fusion::ScatterAttributes& attributes) {
  const int64_t elements = attributes.rows * attributes.columns;
  const int64_t updates = attributes.count * attributes.columns;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const auto bytes = static_cast<int64_t>(size_of(attributes.dtype));
  const bool can_sort = std::max(attributes.count, attributes.rows) < kMost;
  if (attributes.count < kFewPositions) {
    return elements <= kMaxElementsByRows || !can_sort ? Way::kRows : Way::kFew;
  }
  if (attributes.mode == ScatterMode::kAdd && !is_float(attributes.dtype) && bytes >= 4 &&
      std::max(elements, updates) <= kMost) {
    return elements <= kTable ? Way::kTable : Way::kSums;
  }
  if (can_sort && has_long_runs(attributes)) return Way::kSorted;
  // A block takes some time even where it finds nothing.
  const bool takes_less =
      Blocks(attributes).count * (attributes.count + kFewPositions) <= kMaxReads &&
      std::max(elements, updates) * bytes <= kMaxBytesByRows;
  return takes_less || !can_sort ? Way::kRows : Way::kSorted;
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

// A kernel, and what its source depends on.
struct ScatterPass {
  const char* name;
  bool by_dtype = false, by_mode = false;
  bool by_lanes = false;  // there is one for vectors too
};

class ScatterRunner : public LibraryRunner {
 public:
  explicit ScatterRunner(const LibraryDevice& device)
      : radix_(device), kernels_(device.context, device.compiler) {}

  absl::Status prepare(const fusion::LibraryCall& call) override {
    const fusion::ScatterAttributes& attributes = fusion::scatter_of(call);
    absl::Status status;
    const auto compile = [&](const ScatterPass& pass) {
      if (status.ok()) status = kernel(attributes, pass, false).compile();
      if (!status.ok() || !pass.by_lanes || attributes.columns % lanes_of(attributes) != 0) return;
      status = kernel(attributes, pass, true).compile();
    };
    switch (way_of(attributes)) {
      case Way::kRows: compile(kRows); break;
      case Way::kFew:
        compile(kCopy);
        compile(kFew);
        break;
      case Way::kTable:
        compile(kCopy);
        compile(kTableSums);
        break;
      case Way::kSums:
        compile(kCopy);
        compile(kSums);
        break;
      case Way::kSorted:
        status = radix_.prepare(keys_of(attributes));
        compile(kKeys);
        compile(kStarts);
        compile(has_long_runs(attributes) ? kWarps : kElements);
    }
    return status;
  }

  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label) override {
    const fusion::ScatterAttributes& attributes = fusion::scatter_of(call);
    ScatterArguments arguments(attributes, buffers);
    const int64_t elements = attributes.rows * attributes.columns;
    const int64_t updates = attributes.count * attributes.columns;
    if (elements == 0) return absl::OkStatus();
    const int64_t lanes = arguments.has_vectors(lanes_of(attributes), size_of(attributes.dtype))
                              ? lanes_of(attributes)
                              : 1;
    absl::Status status;
    const auto launch = [&](const ScatterPass& pass, int64_t blocks) {
      arguments.first_block = 0;
      if (!status.ok()) return;
      status = kernel(attributes, pass, lanes > 1).launch(stream, &arguments, blocks, label);
    };
    // Each block is to have so many of all updates' threads.
    const auto launch_updates = [&](const ScatterPass& pass, int64_t all, int64_t least) {
      arguments.updates_of_block = std::max(least, ceil_div(all, kMaxBlocks));
      launch(pass, ceil_div(all, arguments.updates_of_block));
    };
    const auto copy = [&] { launch(kCopy, ceil_div(elements, lanes * kThreads)); };
    switch (way_of(attributes)) {
      case Way::kRows: {
        const Blocks blocks(attributes);
        arguments.rows_of_block = blocks.rows;
        arguments.columns_of_block = blocks.columns;
        launch(kRows, blocks.count);
        break;
      }
      case Way::kFew:
        copy();
        if (updates == 0) break;
        launch_updates(kFew, updates / lanes,
                       std::max(int64_t{kThreads}, ceil_div(updates / lanes, kMaxBlocksOfFew)));
        break;
      case Way::kTable:  // which each block writes
        copy();
        launch_updates(kTableSums, updates, std::max(kMinUpdatesOfBlock, 4 * elements));
        break;
      case Way::kSums:
        copy();
        launch_updates(kSums, updates, kMinUpdatesOfBlock);
        break;
      case Way::kSorted: return enqueue_sorted(stream, attributes, arguments, label);
    }
    return status;
  }

 private:
  static constexpr ScatterPass kKeys{"keys"}, kStarts{"starts"};
  static constexpr ScatterPass kCopy{"copy", true, false, true};
  static constexpr ScatterPass kTableSums{"table", true}, kSums{"sums", true};
  static constexpr ScatterPass kWarps{"warps", true, true};
  static constexpr ScatterPass kElements{"elements", true, true, true},
      kRows{"rows", true, true, true}, kFew{"few", true, true, true};

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
    const int lanes = lanes_of(attributes);
    const bool has_vectors = arguments.has_vectors(lanes, size_of(attributes.dtype));
    const auto launch = [&](const ScatterPass& pass, int64_t threads) {
      arguments.first_block = 0;
      if (!status.ok()) return;
      status = kernel(attributes, pass, has_vectors)
                   .launch(stream, &arguments, ceil_div(threads, int64_t{kThreads}), label);
    };
    launch(kKeys, attributes.count);
    if (status.ok()) {
      void* const of_keys[] = {arguments.keys, arguments.order};
      status = radix_.enqueue(stream, keys_of(attributes), of_keys, label, std::bit_width(rows));
    }
    launch(kStarts, attributes.rows + 1);
    const int64_t elements = attributes.rows * attributes.columns;
    if (has_long_runs(attributes)) {
      // Few get multiprocessors of their own: what a warp does is to wait for sums.
      arguments.elements_of_block = elements <= kFewElements ? 1 : kThreads / 32;
      launch(kWarps, ceil_div(elements, arguments.elements_of_block) * kThreads);
    } else {
      launch(kElements, elements / (has_vectors ? lanes : 1));
    }
    // Later work on the stream may reuse it.
    allocator.free(*memory);
    return status;
  }

  SourceKernel& kernel(const fusion::ScatterAttributes& attributes, const ScatterPass& pass,
                       bool has_vectors) {
    constexpr const char* kOps[] = {"sl_set", "sl_add", "sl_max", "sl_min"};
    const DType dtype = stored_dtype(attributes);
    const char* const op = kOps[static_cast<int>(attributes.mode)];
    std::string call = absl::StrCat("scatter_", pass.name), name = call;
    if (pass.by_mode) absl::StrAppend(&name, "_", op + 3);
    if (pass.by_dtype) {
      absl::StrAppend(&name, "_", sluice::name_of(dtype));
      absl::StrAppend(&call, "<", memory_type(dtype));
      if (pass.by_mode) absl::StrAppend(&call, ", ", op);
      if (pass.by_lanes) absl::StrAppend(&call, ", ", has_vectors ? lanes_of(attributes) : 1);
      call += ">";
    }
    if (pass.by_lanes && has_vectors) name += "_vectors";
    return kernels_.get(name, [&] {
      return with_radix_texts(absl::StrCat("constexpr int kTable = ", kTable, ";\n", kScatterText,
                                           "SL_KERNEL(", name, ", sl_scatter) { sl_", call,
                                           "(p); }\n"));
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
