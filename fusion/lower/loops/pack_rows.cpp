#include "fusion/lower/loops/pack_rows.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "fusion/ir/packed_rows.h"

namespace sluice::fusion {
namespace {

// As many along the last dim are whole vectors, or nearly; only bounds inside the row are then in
// the way.
constexpr int64_t kWholeVector = 16;
// A dim before the packed ones that is shorter is packed too, if there is room.
constexpr int64_t kShortDim = 64;
// Fewer rows take no time worth a kernel of their own for every length: along the dim before the
// packed ones, or in all, if there are enough along that dim to fill a vector.
constexpr int64_t kMinRows = 128, kMinRowsInAll = 2048;
// Rows that are only moved gain more, and long ones need not be many along one dim.
constexpr int64_t kFewMovedRows = 4;
// At the ends of a run of rows, lanes are gathered, which hardware does of wider elements only. But
// rows of so few points would leave most lanes of their own vectors empty.
constexpr int64_t kLongRun = 256, kFewPoints = 8;
// So many rows in a run make up for its ends, if each is not better moved by itself.
constexpr int64_t kFewRows = 48;

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

// The rows in a run: along the dim before the packed ones.
int64_t rows_in_run(const LoopNest& nest, int rank) {
  return nest.dims[nest.dims.size() - rank - 1].extent;
}

bool has_many_rows(const LoopNest& nest, int rank, int64_t least, int64_t least_in_all) {
  const size_t outer = nest.dims.size() - rank;
  const int64_t rows = rows_in_run(nest, rank);
  int64_t rows_in_all = 1;
  for (size_t d = 0; d < outer; ++d) rows_in_all *= nest.dims[d].extent;
  return rows >= kMinRows || (rows >= least && rows_in_all >= least_in_all);
}

// The number of trailing dims to pack, or 0.
int packed_rank(const LoopNest& nest, const Program& program) {
  const std::vector<Dim>& dims = nest.dims;
  const int outer = static_cast<int>(dims.size());
  int64_t points = 1;
  int rank = 0;
  while (rank < kMaxPackedDims && rank + 1 < outer) {
    const int64_t extent = dims[outer - 1 - rank].extent;
    if (points * extent > kMaxPackedPoints || (rank > 0 && extent >= kShortDim)) break;
    points *= extent;
    ++rank;
  }
  if (rank == 0 || points < 2) return 0;
  if (!has_many_rows(nest, rank, kFillsVector, kMinRowsInAll)) return 0;
  const int64_t rows = rows_in_run(nest, rank);
  if (dims.back().extent % kWholeVector == 0 && !has_bounds(program)) return 0;
  if (rows < kLongRun && points >= kFewPoints && has_bounds(program) && reads_narrow(program)) {
    return 0;
  }
  return rank;
}

void pack(const LoopNest& nest, int rank, Program* program) {
  const size_t first = nest.dims.size() - rank;
  program->packed_rank = static_cast<uint8_t>(rank);
  for (int d = 0; d < rank; ++d) {
    program->packed[d] = static_cast<uint8_t>(nest.dims[first + d].extent);
  }
  for (size_t i = 0; i < nest.addresses.size(); ++i) {
    const auto& stride = nest.addresses[i].coefficient;
    Access& access = program->accesses[i];
    bool consecutive = true;
    access.knows_row = access.buffer != kNoBuffer;
    int64_t inner = 1;
    for (size_t d = nest.dims.size(); d-- > first;) {
      constexpr int64_t kLongest = std::numeric_limits<int8_t>::max();
      access.varies_in_row = access.varies_in_row || stride[d] != 0;
      access.knows_row = access.knows_row && std::abs(stride[d]) <= kLongest;
      consecutive = consecutive && stride[d] == inner;
      inner *= nest.dims[d].extent;
    }
    for (int d = 0; access.knows_row && d < rank; ++d) {
      access.in_row[d] = static_cast<int8_t>(stride[first + d]);
    }
    const int64_t along_rows = stride[first - 1];
    access.rows = along_rows == 0   ? StrideClass::kZero
                  : along_rows == 1 ? StrideClass::kUnit
                                    : StrideClass::kAny;
    if ((consecutive || access.knows_row) && std::abs(along_rows) <= kMaxPackedStride) {
      access.row_stride = static_cast<int8_t>(along_rows);
    }
  }
}

void unpack(Program* program) {
  program->packed_rank = 0;
  program->short_runs = false;
  program->packed = {};
  for (Access& access : program->accesses) {
    access.rows = StrideClass::kZero;
    access.varies_in_row = false;
    access.row_stride = 0;
    access.knows_row = false;
    access.in_row = {};
  }
}

// As many of the last dims as make a row that a kernel may take by itself. fewest: short rows along
// the dim before them.
bool pack_moved_rows(const LoopNest& nest, int64_t fewest, Program* program) {
  const int most = std::min<int>(kMaxPackedDims, static_cast<int>(nest.dims.size()) - 1);
  for (int rank = most; rank > 0; --rank) {
    int64_t points = 1, longest = 1;
    for (int d = 1; d <= rank; ++d) {
      const int64_t extent = nest.dims[nest.dims.size() - d].extent;
      points *= std::min(extent, kMaxPickedPoints + 1);
      longest = std::max(longest, extent);
    }
    if (points < 2 || points > kMaxPickedPoints || longest > kMaxPackedExtent) continue;
    const int64_t least = rank == 1 && points >= kLongMovedRow ? 1 : fewest;
    if (!has_many_rows(nest, rank, least, kMinMovedRows)) continue;
    pack(nest, rank, program);
    // Without masks rows of several dims are no good but as lanes; less would not be packed either
    // if it is repeated a few times only.
    const bool is_least = rank == 1 || nest.dims[nest.dims.size() - rank].extent < kFillsVector;
    const bool is_good = points <= kMaxMovedPoints && (is_least || fits_lanes(*program));
    if (moves_rows(*program) && (is_good || picks_under_condition(*program))) {
      program->short_runs = rank == 1 && rows_in_run(nest, rank) < kLongRun;
      return true;
    }
    unpack(program);
  }
  return false;
}

}  // namespace

void pack_rows(const LoopNest& nest, Program* program) {
  if (program->schedule != Schedule::kPointwise || program->tiled) return;
  if (pack_moved_rows(nest, kFillsVector, program)) return;
  if (const int rank = packed_rank(nest, *program); rank > 0) {
    pack(nest, rank, program);
    if (fits_lanes(*program)) {
      program->short_runs = rows_in_run(nest, rank) < kFewRows;
      return;
    }
    unpack(program);
  }
  pack_moved_rows(nest, kFewMovedRows, program);
}

}  // namespace sluice::fusion
