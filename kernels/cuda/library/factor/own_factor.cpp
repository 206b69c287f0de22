#include "kernels/cuda/library/factor/own_factor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/library/factor/factor_text.h"
#include "kernels/gpu/emit/types.h"
#include "kernels/gpu/run/call.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::FactorAttributes;
using fusion::Op;

// Shared memory of a block for matrices: with less of it more blocks share a multiprocessor. 4 KiB
// of 48 are left for products of pivots.
constexpr int64_t kFewKilobytes = 20, kMostKilobytes = 44;
constexpr int64_t kLeastTeam = 8, kLeastChunk = 8;
// In memory of the device: of one launch, which fills it.
constexpr int64_t kBlocksInMemory = 512;
// There from so many on, of so many rows at the most: a library takes one at a time, by all of the
// device.
constexpr int64_t kLeastInMemory = 8, kMostRowsInMemory = 512, kChunkInMemory = 128;

// How matrices are divided among blocks.
struct Division {
  int64_t team = 0;   // threads of a matrix; 0: they are not for these kernels
  int64_t chunk = 0;  // right-hand sides of a block
  // Of shared memory, which a kernel has for all matrices of a block; 0: none.
  int64_t kilobytes = 0;
};

int64_t sides_of(const FactorAttributes& of) {
  return of.op == Op::kSolve ? of.sides : of.op == Op::kInv ? of.rows : 0;
}

int64_t chunks_of(const FactorAttributes& of, const Division& division) {
  return division.chunk == 0 ? 1 : ceil_div(sides_of(of), division.chunk);
}

// Elements of one matrix and the right-hand sides beside it, in rows of an odd length.
int64_t elements_of(const FactorAttributes& of, int64_t chunk) {
  return of.rows * ((of.rows + chunk) | 1);
}

Division division_of(const FactorAttributes& of) {
  constexpr int64_t kMostBytes = kMostKilobytes * 1024;
  const int64_t n = of.rows, sides = sides_of(of);
  const auto size = static_cast<int64_t>(size_of(of.dtype));
  const auto bytes_of = [&](int64_t team, int64_t chunk) {
    return kThreads / team * elements_of(of, chunk) * size;
  };
  // What has more rows than a warp has threads has more elements than a block has.
  int64_t team = n > 32 ? kThreads : kLeastTeam;
  while (team < std::min(n, int64_t{32}) ||
         (team < kThreads && bytes_of(team, sides) > kMostBytes)) {
    team *= 2;
  }
  if (bytes_of(team, sides) <= kFewKilobytes * 1024) return {team, sides, kFewKilobytes};
  if (bytes_of(team, sides) <= kMostBytes) return {team, sides, kMostKilobytes};
  const int64_t chunk = kMostBytes / size / n - 1 - n;
  if (sides > 0 && chunk >= kLeastChunk) return {team, chunk, kMostKilobytes};
  Division in_memory{team, std::min(sides, kChunkInMemory), 0};
  if (n > kMostRowsInMemory || of.count * chunks_of(of, in_memory) < kLeastInMemory) return {};
  return in_memory;
}

}  // namespace

bool OwnFactor::suits(const FactorAttributes& of) {
  switch (of.op) {
    case Op::kCholesky:
    case Op::kSolve:
    case Op::kInv:
    case Op::kDet: return division_of(of).team > 0;
    default: return false;
  }
}

SourceKernel& OwnFactor::kernel(const FactorAttributes& of, int64_t kilobytes) {
  const std::string type = memory_type(of.dtype);
  const int64_t elements =
      std::max(int64_t{1}, kilobytes * 1024 / static_cast<int64_t>(size_of(of.dtype)));
  const char* const op = of.op == Op::kCholesky ? "cholesky"
                         : of.op == Op::kSolve  ? "solve"
                         : of.op == Op::kInv    ? "inv"
                                                : "det";
  const std::string name = absl::StrCat("factor_", op, "_", type, "_", kilobytes);
  return kernels_.get(name, [&] {
    std::string call;
    switch (of.op) {
      case Op::kCholesky: call = absl::StrCat("sl_cholesky<", type, ", ", elements, ">"); break;
      case Op::kSolve: call = absl::StrCat("sl_solve<", type, ", ", elements, ", false>"); break;
      case Op::kInv: call = absl::StrCat("sl_solve<", type, ", ", elements, ", true>"); break;
      default: call = absl::StrCat("sl_determinant<", type, ", ", elements, ">"); break;
    }
    return absl::StrCat(kFactorText, "SL_KERNEL(", name, ", sl_factor) { ", call, "(p); }\n");
  });
}

absl::Status OwnFactor::prepare(const FactorAttributes& of) {
  return kernel(of, division_of(of).kilobytes).compile();
}

absl::Status OwnFactor::enqueue(runtime::cuda::CudaStream* stream, const FactorAttributes& of,
                                absl::Span<void* const> buffers, MatrixFailures* failures,
                                absl::string_view label) {
  const Division division = division_of(of);
  char* const out = static_cast<char*>(buffers.back());
  const auto size = static_cast<int64_t>(size_of(of.dtype));
  FactorArguments arguments;
  arguments.x = MatricesArgument(of.x, buffers[0], of.dtype);
  if (of.op == Op::kSolve) arguments.y = MatricesArgument(of.y, buffers[1], of.dtype);
  arguments.out[0] = out;
  arguments.out[1] = out + of.count * of.parts()[0] * size;
  arguments.out_row = of.rows;
  if (of.op == Op::kCholesky && of.mode == 1) {
    // The upper factor is the lower one of the transposed matrix, transposed.
    std::swap(arguments.x.row, arguments.x.column);
    std::swap(arguments.out_row, arguments.out_column);
  }
  arguments.failed = failures->flags();
  arguments.count = of.count;
  arguments.rows = of.rows;
  arguments.team = division.team;
  arguments.sides = sides_of(of);
  arguments.chunk = division.chunk;
  arguments.chunks = chunks_of(of, division);
  arguments.mode = of.op == Op::kInv || of.op == Op::kDet ? of.mode : 0;
  const int64_t blocks = ceil_div(of.count, kThreads / division.team) * arguments.chunks;
  SourceKernel& launched = kernel(of, division.kilobytes);
  if (division.kilobytes > 0) return launched.launch(stream, &arguments, blocks, label);
  runtime::cuda::DeviceAllocator& allocator = stream->device().allocator();
  const int64_t blocks_at_once = std::min(blocks, kBlocksInMemory);
  const absl::StatusOr<void*> memory = allocator.allocate(
      static_cast<size_t>(blocks_at_once * elements_of(of, division.chunk) * size), stream);
  if (!memory.ok()) return memory.status();
  arguments.scratch = *memory;
  absl::Status status = absl::OkStatus();
  while (status.ok() && arguments.first_block < blocks) {
    const int64_t end = std::min(blocks, arguments.first_block + blocks_at_once);
    status = launched.launch(stream, &arguments, end, label);
  }
  allocator.free(*memory);  // later work on the stream may reuse it
  return status;
}

}  // namespace sluice::kernels::cuda
