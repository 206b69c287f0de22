#include "kernels/cuda/library/radix_sort.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/library/lines.h"
#include "kernels/cuda/library/order_text.h"
#include "kernels/cuda/library/radix_text.h"
#include "kernels/gpu/run/call.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::SortAttributes;
using fusion::SortResult;

constexpr int64_t kRadixShortLine = 256;  // up to which sort.cpp sorts faster
constexpr int64_t kDigits = 256;
constexpr int64_t kCounted = 1 << 15;  // of the text

int passes_of(int bits) { return ceil_div(bits, 8); }

// sl_radix of the text.
struct RadixArguments : LinesArguments {
  uint64_t reverse;
  int64_t pieces = 0;
  int64_t passes, pass = 0;
  char *from = nullptr, *to = nullptr;
  char *from_at = nullptr, *to_at = nullptr;
  char *states = nullptr, *totals = nullptr, *tickets = nullptr;
  int64_t words = 0;
  int64_t first_block = 0;

  RadixArguments(const SortAttributes& attributes, absl::Span<void* const> buffers, int passes)
      : LinesArguments(attributes.lines,
                       static_cast<const char*>(buffers[0]) +
                           attributes.offset * static_cast<int64_t>(size_of(attributes.dtype)),
                       buffers[1]),
        reverse(attributes.descending ? ~uint64_t{0} : 0),
        passes(passes) {}
};

// Elements and their positions between passes.
struct Moved {
  char *elements = nullptr, *positions = nullptr;
};

// Divides memory among the buffers; the bytes that they take. `base` may be null.
int64_t divide(char* base, const SortAttributes& attributes, RadixArguments* arguments,
               Moved (&moved)[2]) {
  int64_t used = 0;
  const auto take = [&](int64_t bytes) {
    char* const begin = base + used;
    used += ceil_div(bytes, 256) * 256;
    return begin;
  };
  const int64_t lines = arguments->lines, elements = lines * arguments->length;
  arguments->states = take(lines * arguments->pieces * kDigits * 8);
  arguments->totals = take(lines * arguments->passes * kDigits * 4);
  arguments->tickets = take(arguments->passes * 4);
  arguments->words = used / 4;
  for (int k = 0; k < std::min<int64_t>(2, arguments->passes - 1); ++k) {
    moved[k].elements = take(elements * static_cast<int64_t>(size_of(attributes.dtype)));
    if (attributes.result == SortResult::kPositions) moved[k].positions = take(elements * 4);
  }
  return used;
}

// Of a thread, where a line is one block's, or a piece is.
int64_t items_of_line(const SortAttributes& attributes) {
  return std::bit_ceil(static_cast<uint64_t>(
      std::max<int64_t>(2, ceil_div(attributes.lines.length, int64_t{kThreads}))));
}
int64_t items_of_piece(const SortAttributes& attributes) {
  return size_of(attributes.dtype) == 8 ? 8 : 16;
}
bool is_one_block(const SortAttributes& attributes) {
  return items_of_line(attributes) <= items_of_piece(attributes);
}

}  // namespace

std::string with_radix_texts(const std::string& kernel) {
  return absl::StrCat(kLinesText, kOrderText, "constexpr sl_i64 kCounted = ", kCounted, ";\n",
                      kRadixText, kernel);
}

bool RadixSort::is_for(const SortAttributes& attributes) {
  return attributes.lines.length > kRadixShortLine;
}

absl::Status RadixSort::prepare(const SortAttributes& attributes) {
  if (is_one_block(attributes)) return kernel(attributes, Step::kLine).compile();
  for (const Step step : {Step::kClear, Step::kCounts, Step::kPass}) {
    const absl::Status status = kernel(attributes, step).compile();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status RadixSort::enqueue(runtime::cuda::CudaStream* stream, const SortAttributes& attributes,
                                absl::Span<void* const> buffers, absl::string_view label,
                                int bits) {
  if (attributes.lines.length > std::numeric_limits<uint32_t>::max()) {
    return absl::UnimplementedError("a GPU sorts lines of less than 2^32 elements");
  }
  if (bits == 0) bits = static_cast<int>(8 * size_of(attributes.dtype));
  RadixArguments arguments(attributes, buffers, passes_of(bits));
  absl::Status status;
  const auto launch = [&](Step step, int64_t blocks) {
    arguments.first_block = 0;
    if (status.ok()) status = kernel(attributes, step).launch(stream, &arguments, blocks, label);
  };
  const int64_t lines = arguments.lines, length = arguments.length;
  if (is_one_block(attributes)) {
    launch(Step::kLine, lines);
    return status;
  }
  arguments.pieces = ceil_div(length, items_of_piece(attributes) * kThreads);
  runtime::cuda::DeviceAllocator& allocator = stream->device().allocator();
  Moved moved[2];
  const auto bytes = static_cast<size_t>(divide(nullptr, attributes, &arguments, moved));
  const absl::StatusOr<void*> memory = allocator.allocate(bytes, stream);
  if (!memory.ok()) return memory.status();
  divide(static_cast<char*>(*memory), attributes, &arguments, moved);

  launch(Step::kClear, ceil_div(arguments.words, int64_t{kThreads}));
  launch(Step::kCounts, lines * ceil_div(length, kCounted));
  for (; arguments.pass < arguments.passes; ++arguments.pass) {
    const Moved to = arguments.pass + 1 < arguments.passes ? moved[arguments.pass % 2] : Moved();
    arguments.to = to.elements;
    arguments.to_at = to.positions;
    launch(Step::kPass, lines * arguments.pieces);
    arguments.from = to.elements;
    arguments.from_at = to.positions;
  }
  // Later work on the stream may reuse it.
  allocator.free(*memory);
  return status;
}

SourceKernel& RadixSort::kernel(const SortAttributes& attributes, Step step) {
  if (step == Step::kClear) {
    return kernels_.get("radix_clear", [&] {
      return with_radix_texts("SL_KERNEL(radix_clear, sl_radix) { sl_radix_clear(p); }\n");
    });
  }
  const std::string order = order_type(attributes.dtype);
  if (step == Step::kCounts) {
    const std::string name = absl::StrCat("radix_counts_", sluice::name_of(attributes.dtype));
    return kernels_.get(name, [&] {
      return with_radix_texts(
          absl::StrCat("SL_KERNEL(", name, ", sl_radix) { sl_radix_counts<", order, ">(p); }\n"));
    });
  }
  const bool is_values = attributes.result == SortResult::kValues;
  const bool is_line = step == Step::kLine;
  const int64_t items = is_line ? items_of_line(attributes) : items_of_piece(attributes);
  const std::string name =
      absl::StrCat(is_values ? "radix_sort_" : "radix_argsort_",
                   is_line ? absl::StrCat("lines_of_", items * kThreads) : "pass", "_",
                   sluice::name_of(attributes.dtype));
  return kernels_.get(name, [&] {
    return with_radix_texts(absl::StrCat("SL_KERNEL_OF(", name, ", sl_radix, ", is_values ? 3 : 2,
                                         ") { sl_radix_", is_line ? "line" : "pass", "<", order,
                                         ", ", is_values ? "false" : "true", ", ", items,
                                         ">(p); }\n"));
  });
}

}  // namespace sluice::kernels::cuda
