#include "fusion/lower/pack_rows.h"

#include <algorithm>

namespace sluice::fusion {
namespace {

// Rows of more points waste few lanes of their last vector.
constexpr int64_t kMaxPoints = 40;
// As many along the last dim are whole vectors, or nearly; only bounds inside the row are then in
// the way.
constexpr int64_t kWholeVector = 16;
// A dim before the packed ones that is shorter is packed too, if there is room.
constexpr int64_t kShortDim = 64;
// Fewer rows take no time worth a kernel of their own for every length: along the dim before the
// packed ones, or in all, if there are enough along that dim to fill a vector.
constexpr int64_t kMinRows = 1024, kMinRowsInAll = 8192, kFillsVector = 8;
// At the ends of a run of rows, lanes are gathered, which hardware does of wider elements only.
constexpr int64_t kLongPaddedRun = 256;
// The body is emitted twice for each point of a row; instructions.
constexpr int64_t kMaxCode = 512;

bool has_bounds(const Program& program) {
  return std::any_of(program.body.begin(), program.body.end(), [](const Instr& instr) {
    return instr.op == Op::kLoad && instr.num_operands > 0;
  });
}

bool reads_narrow(const Program& program) {
  return std::any_of(program.accesses.begin(), program.accesses.end(), [](const Access& access) {
    return access.buffer != kNoBuffer && size_of(access.dtype) < 4;
  });
}

// The number of trailing dims to pack, or 0.
int packed_rank(const LoopNest& nest, const Program& program) {
  const std::vector<Dim>& dims = nest.dims;
  const int outer = static_cast<int>(dims.size());
  int64_t points = 1;
  int rank = 0;
  while (rank < kMaxPackedDims && rank + 1 < outer) {
    const int64_t extent = dims[outer - 1 - rank].extent;
    if (points * extent > kMaxPoints || (rank > 0 && extent >= kShortDim)) break;
    points *= extent;
    ++rank;
  }
  if (rank == 0 || points < 2) return 0;
  const int64_t rows = dims[outer - 1 - rank].extent;
  int64_t rows_in_all = 1;
  for (int d = 0; d < outer - rank; ++d) rows_in_all *= dims[d].extent;
  if (rows < kMinRows && (rows < kFillsVector || rows_in_all < kMinRowsInAll)) return 0;
  if (dims.back().extent % kWholeVector == 0 && !has_bounds(program)) return 0;
  if (rows < kLongPaddedRun && has_bounds(program) && reads_narrow(program)) return 0;
  const auto code = static_cast<int64_t>(program.body.size() + program.stores.size());
  return points * code <= kMaxCode ? rank : 0;
}

}  // namespace

void pack_rows(const LoopNest& nest, Program* program) {
  if (program->schedule != Schedule::kPointwise || program->tiled) return;
  const int rank = packed_rank(nest, *program);
  if (rank == 0) return;
  const size_t first = nest.dims.size() - rank;
  program->packed_rank = static_cast<uint8_t>(rank);
  for (int d = 0; d < rank; ++d) {
    program->packed[d] = static_cast<uint8_t>(nest.dims[first + d].extent);
  }
  for (size_t i = 0; i < nest.addresses.size(); ++i) {
    const auto& stride = nest.addresses[i].coefficient;
    Access& access = program->accesses[i];
    bool consecutive = true;
    int64_t inner = 1;
    for (size_t d = nest.dims.size(); d-- > first;) {
      access.varies_in_row = access.varies_in_row || stride[d] != 0;
      consecutive = consecutive && stride[d] == inner;
      inner *= nest.dims[d].extent;
    }
    const int64_t along_rows = stride[first - 1];
    access.rows = along_rows == 0   ? StrideClass::kZero
                  : along_rows == 1 ? StrideClass::kUnit
                                    : StrideClass::kAny;
    if (consecutive && along_rows > 0 && along_rows <= kMaxPackedStride) {
      access.row_stride = static_cast<uint8_t>(along_rows);
    }
  }
}

}  // namespace sluice::fusion
