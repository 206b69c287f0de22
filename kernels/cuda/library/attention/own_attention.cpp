#include "kernels/cuda/library/attention/own_attention.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numbers>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/gpu/emit/types.h"
#include "kernels/gpu/run/call.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::AttentionAttributes;
using fusion::AttentionMask;

constexpr const char* kAttentionText =
#include "kernels/cuda/library/attention/attention_kernel.inc"
    ;
constexpr const char* kTensorText =
#include "kernels/cuda/library/attention/attention_tensor_kernel.inc"
    ;
constexpr const char* kFmaText =
#include "kernels/cuda/library/attention/attention_fma_kernel.inc"
    ;

constexpr int64_t kVectorBytes = 16;
constexpr int kTensorCapability = 80;  // mma.sync of bfloat16, cp.async
constexpr int kMaskOperand = 3;
// Up to so many rows of queries, of all heads that share keys, the warps of a block divide its
// keys.
constexpr int64_t kFewRows = 32;
// Few blocks divide their keys among so many, in parts of so many tiles at least.
constexpr int64_t kBlocks = 256, kLeastTiles = 4;
constexpr int kMostShared = 48 << 10;  // bytes of a block
constexpr int64_t kMostParts = 256;    // SL_MOST_PARTS

}  // namespace

// How a call is computed. But for the kernel that a device can run, all of it follows from the
// shape alone, and so do the bits.
struct OwnAttention::Way {
  bool by_tensors = false;
  int depth = 0;   // of rows, padded with zeros
  int keys = 0;    // of a tile
  int groups = 1;  // of warps that divide a tile's keys; above 1 heads that share keys are one
  int turns = 2;   // tiles of keys, and of values, in shared memory
  int blocks = 1;  // of a multiprocessor, for which registers suffice
  int64_t lines = 0, length = 0;  // heads, and rows of each
  int64_t tiles = 0;              // of a head
  int64_t splits = 1, split_tiles = 0;

  Way(const AttentionAttributes& of, int capability)
      : by_tensors(is_half(of.dtype) && capability >= kTensorCapability) {
    const int64_t most = std::max(of.depth, of.value_depth);
    depth = static_cast<int>(round_up<int64_t>(most, by_tensors ? 16 : 32));
    if (by_tensors) {
      keys = depth > 160 ? 16 : depth > 64 ? 32 : depth > 32 ? 48 : 64;
      if (depth <= 64) blocks = 2;
    } else {
      keys = depth > 128 ? 16 : depth > 64 ? 32 : 64;
    }
    const int64_t share = of.heads / of.key_heads;
    const bool has_few_rows = by_tensors && share * of.length <= kFewRows;
    if (has_few_rows) {
      keys = depth > 160 ? 32 : 64;
      groups = keys / 16;
      turns = tile_bytes() <= kMostShared / 4 ? 2 : 1;
    }
    lines = of.batch * (has_few_rows ? of.key_heads : of.heads);
    length = has_few_rows ? share * of.length : of.length;
    tiles = ceil_div<int64_t>(length, rows());

    const int64_t all = ceil_div<int64_t>(of.key_length, keys);
    const int64_t wanted = kBlocks / (lines * tiles);
    splits = std::clamp<int64_t>(std::min(wanted, all / kLeastTiles), 1, kMostParts / groups);
    split_tiles = ceil_div(all, splits);
    splits = ceil_div(all, split_tiles);
  }
  int tile_bytes() const { return keys * (depth + 8) * 2; }
  int rows() const { return kThreads / 32 / groups * 16; }
  int64_t num_blocks() const { return lines * tiles * splits; }
  // Of a row, which are added up if there are several.
  int64_t parts() const { return splits * groups; }
  int64_t partial_bytes(int64_t value_depth) const {
    return lines * length * parts() * (value_depth + 2) * static_cast<int64_t>(sizeof(float));
  }
};

// sl_attention of the text.
struct OwnAttention::Arguments {
  struct Operand {
    uintptr_t data = 0;
    int64_t strides[4] = {};
    int64_t vectors = 0;
  };
  void* result;
  float* partials = nullptr;
  Operand operands[AttentionAttributes::kMaxOperands];
  int64_t batch, heads, share;
  int64_t length, key_length, depth, value_depth;
  int64_t positions;
  int64_t causal;
  int64_t pairs;
  int64_t tiles;
  int64_t splits, split_tiles;
  int64_t parts;
  int64_t first_block = 0;
  float scale;

  Arguments(const AttentionAttributes& of, const Way& way, absl::Span<void* const> buffers)
      : result(buffers.back()),
        batch(of.batch),
        heads(way.lines / of.batch),
        share(heads / of.key_heads),
        length(way.length),
        key_length(of.key_length),
        depth(of.depth),
        value_depth(of.value_depth),
        positions(of.length),
        causal(of.flags.causal),
        pairs(of.value_depth % 2 == 0 &&
              reinterpret_cast<uintptr_t>(result) % (2 * size_of(of.dtype)) == 0),
        tiles(way.tiles),
        splits(way.splits),
        split_tiles(way.split_tiles),
        parts(way.parts()),
        scale(static_cast<float>(of.scale() * std::numbers::log2e)) {
    for (size_t k = 0; k + 1 < buffers.size(); ++k) {
      const DType mask = of.mask() == AttentionMask::kBool ? DType::kBool : DType::kFloat32;
      const auto size = static_cast<int64_t>(size_of(k == kMaskOperand ? mask : of.dtype));
      const auto is_whole = [&](int64_t stride) { return stride * size % kVectorBytes == 0; };
      Operand& to = operands[k];
      to.data = reinterpret_cast<uintptr_t>(buffers[k]) +
                static_cast<uintptr_t>(of.operands[k].offset * size);
      std::copy_n(of.operands[k].strides.begin(), 4, to.strides);
      to.vectors = to.strides[3] == 1 && std::all_of(to.strides, to.strides + 3, is_whole) &&
                   to.data % kVectorBytes == 0;
    }
  }
  bool have_vectors() const {
    return std::all_of(operands, operands + kMaskOperand,
                       [](const Operand& operand) { return operand.vectors != 0; });
  }
};

absl::Status OwnAttention::prepare(const fusion::LibraryCall& call) {
  const AttentionAttributes& of = fusion::attention_of(call);
  const Way way(of, context_.info().compute_capability);
  // Blocks of memory begin at whole vectors.
  const Arguments arguments(of, way, std::array<void*, AttentionAttributes::kMaxOperands + 1>{});
  absl::Status status = kernel(of, way, arguments.have_vectors()).compile();
  if (status.ok() && way.parts() > 1) status = adding(of, way).compile();
  return status;
}

absl::Status OwnAttention::enqueue(runtime::cuda::CudaStream* stream,
                                   const fusion::LibraryCall& call, absl::Span<void* const> buffers,
                                   absl::string_view label) {
  const AttentionAttributes& of = fusion::attention_of(call);
  const Way way(of, context_.info().compute_capability);
  Arguments arguments(of, way, buffers);
  SourceKernel& attend = kernel(of, way, arguments.have_vectors());
  if (way.parts() == 1) return attend.launch(stream, &arguments, way.num_blocks(), label);

  runtime::cuda::DeviceAllocator& allocator = stream->device().allocator();
  const absl::StatusOr<void*> memory =
      allocator.allocate(static_cast<size_t>(way.partial_bytes(of.value_depth)), stream);
  if (!memory.ok()) return memory.status();
  arguments.partials = static_cast<float*>(*memory);
  absl::Status status = attend.launch(stream, &arguments, way.num_blocks(), label);
  if (status.ok()) {
    arguments.first_block = 0;
    status = adding(of, way).launch(stream, &arguments, way.lines * way.length, label);
  }
  // Later work on the stream may reuse it.
  allocator.free(arguments.partials);
  return status;
}

SourceKernel& OwnAttention::kernel(const AttentionAttributes& of, const Way& way,
                                   bool has_vectors) {
  const std::string name = absl::StrCat(
      "attention_", way.by_tensors ? "tensor_" : "", sluice::name_of(of.dtype), "_", way.depth, "_",
      way.rows(), "x", way.keys, "_", of.flags.mask, has_vectors ? "" : "_each");
  const bool has_async_copies =
      of.dtype == DType::kFloat32 && context_.info().compute_capability >= kTensorCapability;
  return kernels_.get(name, [&] {
    const std::string memory = memory_type(of.dtype);
    const std::string body =
        way.by_tensors
            ? absl::StrCat("sl_attend_tensors<", memory, ", ", way.depth, ", 1, ", way.keys, ", ",
                           way.groups, ", ", way.turns, ", ", of.flags.mask, ", ", has_vectors, ">")
            : absl::StrCat("sl_attend<", memory, ", ", way.depth, ", ", way.keys, ", ",
                           of.flags.mask, ", ", has_vectors && has_async_copies, ">");
    return absl::StrCat(kAttentionText, way.by_tensors ? kTensorText : kFmaText, "SL_KERNEL_OF(",
                        name, ", sl_attention, ", has_vectors ? way.blocks : 1, ") { ", body,
                        "(p); }\n");
  });
}

SourceKernel& OwnAttention::adding(const AttentionAttributes& of, const Way& way) {
  const bool is_scaled = !way.by_tensors || of.mask() == AttentionMask::kFloat;
  const std::string name =
      absl::StrCat("attention_add_", sluice::name_of(of.dtype), is_scaled ? "_scaled" : "");
  return kernels_.get(name, [&] {
    return absl::StrCat(kAttentionText, "SL_KERNEL(", name, ", sl_attention) { sl_add_parts<",
                        memory_type(of.dtype), ", ", is_scaled, ">(p); }\n");
  });
}

}  // namespace sluice::kernels::cuda
