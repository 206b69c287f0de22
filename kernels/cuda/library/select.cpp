#include "kernels/cuda/library/select.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/library/lines.h"
#include "kernels/cuda/library/order_text.h"
#include "kernels/cuda/library/select_text.h"
#include "kernels/gpu/run/call.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::SortAttributes;

// Of the text. A pass for each digit of a key of 64 bits and of a position of 32.
constexpr int64_t kDigitBits = 11, kValues = 1 << kDigitBits, kMaxPasses = 6 + 3;
constexpr int64_t kCandidates = 2 * fusion::kMaxSelected;
constexpr int64_t kRead = 8 * kThreads;  // elements of a block at a time
// Of a line, if they are not tiny.
constexpr int64_t kMaxParts = 1024, kMinPart = 2 * kRead;

// sl_selection of the text.
struct LineSelection {
  struct Range {
    uint64_t key;
    uint32_t at;
    int32_t digits;
    uint32_t before, inside;
  };
  struct Candidate {
    uint64_t key;
    uint32_t at;
  };
  uint32_t counts[kMaxPasses][kValues];
  uint32_t found;
  Range ranges[kMaxPasses];
  Candidate candidates[kCandidates];
};

// sl_select of the text.
struct SelectArguments : LinesArguments {
  uint64_t reverse;
  int64_t count;
  int64_t part, parts;
  int64_t passes, pass = 0;
  int64_t position_bits;
  void* selections = nullptr;
  int64_t first_block = 0;

  SelectArguments(const SortAttributes& attributes, absl::Span<void* const> buffers)
      : LinesArguments(attributes.lines,
                       static_cast<const char*>(buffers[0]) +
                           attributes.offset * static_cast<int64_t>(size_of(attributes.dtype)),
                       buffers[1]),
        reverse(attributes.descending ? ~uint64_t{0} : 0),
        count(attributes.count),
        part(std::max(kMinPart, ceil_div(ceil_div(length, kMaxParts), kRead) * kRead)),
        parts(ceil_div(length, part)),
        position_bits(std::bit_width(static_cast<uint64_t>(length - 1))) {
    const auto key_bits = 8 * static_cast<int64_t>(size_of(attributes.dtype));
    passes = ceil_div(key_bits, kDigitBits) + ceil_div(position_bits, kDigitBits);
  }
};

}  // namespace

absl::Status Selection::prepare(const SortAttributes& attributes) {
  for (const Step step : {Step::kClear, Step::kCounts, Step::kCandidates, Step::kRanks}) {
    const absl::Status status = kernel(attributes.dtype, step).compile();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Selection::enqueue(runtime::cuda::CudaStream* stream, const SortAttributes& attributes,
                                absl::Span<void* const> buffers, absl::string_view label) {
  if (!fusion::is_selected(attributes.lines.length, attributes.count)) {
    return absl::UnimplementedError("a GPU selects few elements of long lines");
  }
  if (attributes.count == 0) return absl::OkStatus();
  SelectArguments arguments(attributes, buffers);
  runtime::cuda::DeviceAllocator& allocator = stream->device().allocator();
  const absl::StatusOr<void*> memory =
      allocator.allocate(static_cast<size_t>(arguments.lines) * sizeof(LineSelection), stream);
  if (!memory.ok()) return memory.status();
  arguments.selections = *memory;

  absl::Status status;
  const auto launch = [&](Step step, int64_t blocks) {
    arguments.first_block = 0;
    if (!status.ok()) return;
    status = kernel(attributes.dtype, step).launch(stream, &arguments, blocks, label);
  };
  const int64_t lines = arguments.lines, parts = lines * arguments.parts;
  launch(Step::kClear, ceil_div(lines * (kMaxPasses * kValues + 1), int64_t{kThreads}));
  for (; arguments.pass < arguments.passes; ++arguments.pass) launch(Step::kCounts, parts);
  launch(Step::kCandidates, parts);
  launch(Step::kRanks, lines * ceil_div(kCandidates, int64_t{kThreads}));
  // Later work on the stream may reuse it.
  allocator.free(*memory);
  return status;
}

SourceKernel& Selection::kernel(DType dtype, Step step) {
  constexpr const char* kNames[] = {"clear", "counts", "candidates", "ranks"};
  std::string name = absl::StrCat("select_", kNames[static_cast<int>(step)]);
  std::string call = name;
  if (step == Step::kCounts || step == Step::kCandidates) {
    absl::StrAppend(&call, "<", order_type(dtype), ">");
    absl::StrAppend(&name, "_", sluice::name_of(dtype));
  }
  return kernels_.get(name, [&] {
    return absl::StrCat(kLinesText, kOrderText, "constexpr int kMaxPasses = ", kMaxPasses,
                        ", kCandidates = ", kCandidates, ";\n", kSelectText, "SL_KERNEL(", name,
                        ", sl_select) { sl_", call, "(p); }\n");
  });
}

}  // namespace sluice::kernels::cuda
