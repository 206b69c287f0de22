#include "kernels/gpu/run/call.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <limits>

#include "kernels/gpu/emit/plan.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::Access;
using fusion::Op;
using fusion::Program;
using fusion::Schedule;
using fusion::StrideClass;

// As in the teams of prelude_rows.inc.
constexpr int64_t kWarp = 32;
constexpr int64_t kRowChunk = 8192, kRowGroup = 4;
constexpr int64_t kColumnChunk = 512, kColumnSize = 8;
constexpr int64_t kColumns = kThreads / kColumnSize;  // of a block
constexpr int64_t kAcrossThreads = 4;  // of a row in a warp, if rows are side by side
// Rows up to this long are reduced by a warp or a part of one.
constexpr int64_t kWarpRow = 1024;
// Fewer blocks than this many for each multiprocessor leave it waiting for memory. Up to the second
// number more blocks share the work better and have more on its way, but that is worth another
// launch only where each block would have so many chunks to go through.
constexpr int64_t kBlocksNeeded = 2, kBlocksWanted = 8;
constexpr int64_t kChunksWorthALaunch = 4;
constexpr int64_t kPartialBytes = 16;  // sl_slot
// Lines of a tile, as in sl_point_team: a cache line of float32.
constexpr int64_t kTileLines = 32;

// sl_error.
static_assert(sizeof(ErrorSlot) == 24 && offsetof(ErrorSlot, raised) == 0 &&
              offsetof(ErrorSlot, index) == 8 && offsetof(ErrorSlot, extent) == 16);

// The first words: sl_call.
enum Word {
  kStage,
  kAligned,
  kGrouped,
  kRows,
  kLength,
  kChunks,
  kSplits,
  kTeam,
  kTeamDivisor,
  kErrors,
  kPartials,
  kNumCallWords
};

int64_t product(const int64_t* extents, int count) {
  int64_t result = 1;
  for (int d = 0; d < count; ++d) result *= extents[d];
  return result;
}

uint64_t word_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// See sl_divide(): n / extent == (high word of n * multiplier + n) >> shift for 0 <= n < 2^31.
uint64_t divisor_of(int64_t extent) {
  if (extent <= 0 || extent > std::numeric_limits<int32_t>::max()) return 0;
  const uint64_t d = static_cast<uint64_t>(extent);
  const int shift = std::bit_width(d - 1);
  const uint64_t multiplier = ((uint64_t{1} << 32) * ((uint64_t{1} << shift) - d)) / d + 1;
  return uint64_t(shift) << 32 | multiplier;
}

// Threads for a row: a group of elements for each, a warp at most, a block for long rows.
int64_t row_team(int64_t length) {
  if (length > kWarpRow) return kThreads;
  const uint64_t groups = static_cast<uint64_t>(ceil_div(std::max<int64_t>(length, 1), kRowGroup));
  return std::min<int64_t>(kWarp, static_cast<int64_t>(std::bit_ceil(groups)));
}

// Whether blocks are to share rows, given how many there are if they do not.
bool is_worth_splitting(const Geometry& geometry, int64_t multiprocessors) {
  if (geometry.chunks == 1) return false;
  const int64_t wanted = geometry.chunks < kChunksWorthALaunch ? kBlocksNeeded : kBlocksWanted;
  return geometry.blocks[0] < wanted * multiprocessors;
}

// Rows of a block.
int64_t rows_of_block(int64_t team, bool across) {
  if (!across || team < kAcrossThreads) return kThreads / team;
  return (team > kWarp ? kWarp : kThreads) / kAcrossThreads;
}

// What blocks of whole rows do, and how rows are split among blocks.
void set_row_blocks(int64_t multiprocessors, bool across, Geometry* geometry) {
  const int64_t team = row_team(geometry->length);
  geometry->team[0] = geometry->team[1] = team;
  geometry->chunks = std::max<int64_t>(1, ceil_div(geometry->length, kRowChunk));
  geometry->blocks[0] = geometry->blocks[1] = ceil_div(geometry->rows, rows_of_block(team, across));
  geometry->is_split = is_worth_splitting(*geometry, multiprocessors);
  if (!geometry->is_split) return;
  geometry->splits[0] = geometry->chunks;
  geometry->blocks[0] *= geometry->chunks;
}

// Several chunks for each block that shares a row, if all of them begin at the same place of a run
// along the innermost dim, so that they lie side by side along the one before, and not far from
// each other.
void set_chunks_across(const Program& program, const int64_t* extents, int64_t multiprocessors,
                       Geometry* geometry) {
  constexpr int64_t kLeastRun = 1024;
  const int64_t run = extents[program.rank() - 1];
  if (!has_chunks_across(program) || !geometry->is_split || run < kLeastRun || kRowChunk % run != 0)
    return;
  const int64_t splits = ceil_div(geometry->chunks, rows_of_block(kThreads, true));
  if (splits == 1 || geometry->rows * splits < multiprocessors) return;
  geometry->splits[0] = splits;
  geometry->blocks[0] = geometry->rows * splits;
}

void set_short_column_blocks(Geometry* geometry) {
  geometry->team[0] = geometry->team[1] = kThreads;
  geometry->blocks[0] = geometry->blocks[1] = ceil_div(geometry->rows, kThreads);
}

void set_column_blocks(int64_t multiprocessors, Geometry* geometry) {
  geometry->team[0] = geometry->team[1] = kColumns;
  geometry->chunks = std::max<int64_t>(1, ceil_div(geometry->length, kColumnChunk));
  geometry->blocks[0] = geometry->blocks[1] = ceil_div(geometry->rows, kColumns);
  geometry->is_split = is_worth_splitting(*geometry, multiprocessors);
  if (!geometry->is_split) return;
  // A block with room for more columns than there are takes several chunks.
  const uint64_t rows = static_cast<uint64_t>(std::min(geometry->rows, kColumns));
  const int64_t columns = static_cast<int64_t>(std::bit_ceil(std::max<uint64_t>(rows, 1)));
  geometry->team[0] = columns;
  geometry->splits[0] = ceil_div(geometry->chunks, kColumns / columns);
  geometry->blocks[0] = ceil_div(geometry->rows, columns) * geometry->splits[0];
}

// Vectors of lanes along the innermost dim.
int64_t vectors_of_line(const Program& program, int64_t extent) {
  return ceil_div(extent, lanes_of(program));
}

Geometry pointwise_geometry(const Program& program, const int64_t* extents) {
  Geometry geometry;
  const int innermost = program.outer_rank - 1;
  geometry.length = extents[innermost];
  geometry.team[0] = geometry.team[1] = vectors_of_line(program, geometry.length);
  geometry.rows = product(extents, innermost) * geometry.team[0];
  geometry.blocks[0] = geometry.blocks[1] = ceil_div(geometry.rows, kThreads);
  const int64_t lines = program.outer_rank > 1 ? extents[innermost - 1] : 1;
  constexpr int64_t kWidth = kThreads / kTileLines;
  const int64_t tiles = product(extents, std::max(innermost - 1, 0)) * ceil_div(lines, kTileLines) *
                        ceil_div(geometry.team[0], kWidth);
  // Numbers of threads have 32 bits, as indices do.
  if (takes_tiles(program) && lines >= kTileLines && geometry.team[0] >= kWidth &&
      tiles * kThreads < std::numeric_limits<int32_t>::max()) {
    geometry.splits[0] = geometry.splits[1] = kTileLines;
    geometry.blocks[0] = geometry.blocks[1] = tiles;
    geometry.rows = tiles * kThreads;
  }
  return geometry;
}

// True if lanes of an access can be moved as vectors: all of them start where a vector is aligned.
bool is_aligned(const Program& program, const KernelArgs& args, size_t a, int64_t lanes) {
  const Access& access = program.accesses[a];
  const int64_t size = static_cast<int64_t>(size_of(access.dtype));
  const int64_t bytes = std::min<int64_t>(16, lanes * size);
  const int64_t* strides = args.accesses + a * (program.rank() + 1);
  const int64_t offset = strides[program.rank()] * size;
  if ((word_of(args.buffers[access.buffer]) + static_cast<uint64_t>(offset)) % bytes != 0) {
    return false;
  }
  for (int d = 0; d < program.rank(); ++d) {
    if (d == program.lane_dim() || args.extents[d] <= 1) continue;
    if (strides[d] * size % bytes != 0) return false;
  }
  return true;
}

// As moves_vectors() of the body emitter: loads under no predicate, and stores.
bool all_vectors_aligned(const Program& program, const KernelArgs& args) {
  const int64_t lanes = lanes_of(program);
  if (lanes == 1) return false;
  auto fits = [&](uint16_t access) {
    return program.accesses[access].lanes != StrideClass::kUnit ||
           is_aligned(program, args, access, lanes);
  };
  for (const fusion::Instr& instr : program.body) {
    if (instr.op == Op::kLoad && instr.num_operands == 0 && !fits(instr.aux)) return false;
  }
  return std::all_of(program.stores.begin(), program.stores.end(),
                     [&](const fusion::Store& store) { return fits(store.access); });
}

bool is_grouped(const Program& program, const int64_t* extents) {
  return program.reduced_rank <= 1 || extents[program.rank() - 1] % kRowGroup == 0;
}

// Rows that threads can keep, all of them whole groups.
void set_way(const Program& program, const int64_t* extents, int64_t multiprocessors,
             Geometry* geometry) {
  // With fewer for each multiprocessor, more of its threads have something to do if each row has a
  // block.
  constexpr int64_t kRowsForWarps = 16;
  const int64_t team = geometry->team[0];
  if (geometry->length > kKeptGroups * kRowGroup * team || geometry->length % kRowGroup != 0 ||
      !is_grouped(program, extents)) {
    return;
  }
  const Plan plan(program);
  if (!plan.kept.may_keep()) return;
  geometry->way = {RowWay::kKept, kKeptGroups};
  if (!plan.kept.by_warp || team <= kWarp || geometry->length > kGroupsByWarp * kRowGroup * kWarp ||
      geometry->rows < kRowsForWarps * multiprocessors) {
    return;
  }
  geometry->way = {RowWay::kKeptByWarp, kGroupsByWarp};
  geometry->team[0] = geometry->team[1] = kWarp;
  geometry->blocks[0] = geometry->blocks[1] = ceil_div(geometry->rows, kThreads / kWarp);
}

}  // namespace

Geometry geometry_of(const Program& program, const int64_t* extents, int multiprocessors,
                     bool takes_turns) {
  if (program.schedule == Schedule::kPointwise) return pointwise_geometry(program, extents);
  Geometry geometry;
  geometry.rows = product(extents, program.outer_rank);
  geometry.length = product(extents + program.outer_rank, program.reduced_rank);
  if (program.schedule == Schedule::kRow) {
    set_row_blocks(multiprocessors, takes_turns && program.lanes_across_rows, &geometry);
    if (takes_turns) set_chunks_across(program, extents, multiprocessors, &geometry);
    if (takes_turns) set_way(program, extents, multiprocessors, &geometry);
  } else if (takes_turns && has_short_columns(program)) {
    set_short_column_blocks(&geometry);
  } else {
    set_column_blocks(multiprocessors, &geometry);
  }
  if (geometry.chunks == 1) return geometry;
  const Plan plan(program);
  geometry.partial_bytes = kPartialBytes * static_cast<int64_t>(plan.reductions.size()) *
                           geometry.rows * geometry.chunks;
  if (!geometry.is_split) return geometry;
  geometry.ends_with_rows = !plan.row_stores.empty();
  geometry.num_stages = static_cast<int>(plan.passes.size()) + geometry.ends_with_rows;
  return geometry;
}

bool needs_wide_indices(const Program& program, const KernelArgs& args) {
  // Teams run past the end of a row by less than this.
  constexpr int64_t kMargin = int64_t{1} << 16;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - kMargin;
  if (product(args.extents, program.outer_rank) > kMost ||
      product(args.extents + program.outer_rank, program.reduced_rank) > kMost) {
    return true;
  }
  const int rank = program.rank();
  for (size_t a = 0; a < program.accesses.size(); ++a) {
    if (program.accesses[a].buffer == fusion::kNoBuffer) continue;  // computed in 64 bits
    int64_t reach = 0;
    for (int d = 0; d < rank; ++d) {
      const int64_t last = std::max<int64_t>(args.extents[d] - 1, 0);
      const int64_t stride = std::abs(args.accesses[a * (rank + 1) + d]);
      if (last != 0 && stride > (kMost - reach) / last) return true;
      reach += last * stride;
    }
  }
  return false;
}

int64_t num_words(const Program& program) {
  const int64_t rank = program.rank();
  return kNumCallWords + 2 * rank + program.num_scalars + program.num_params +
         static_cast<int64_t>(program.accesses.size()) * (rank + 1);
}

void pack_call(const Program& program, const Geometry& geometry, const KernelArgs& args, int stage,
               void* partials, uint64_t* words) {
  const bool last = geometry.is_last_kind(stage);
  words[kStage] = static_cast<uint64_t>(geometry.is_split ? stage : -1);
  words[kAligned] = all_vectors_aligned(program, args);
  words[kGrouped] = is_grouped(program, args.extents);
  words[kRows] = geometry.rows;
  words[kLength] = geometry.length;
  words[kChunks] = geometry.chunks;
  words[kSplits] = geometry.splits[last];
  words[kTeam] = geometry.team[last];
  words[kTeamDivisor] = divisor_of(geometry.team[last]);
  words[kErrors] = word_of(args.errors);
  words[kPartials] = word_of(partials);

  const int rank = program.rank();
  uint64_t* out = std::copy_n(args.extents, rank, words + kNumCallWords);
  out = std::transform(args.extents, args.extents + rank, out, divisor_of);
  out = std::copy_n(args.scalars, program.num_scalars, out);
  out = std::copy_n(args.params, program.num_params, out);
  for (size_t a = 0; a < program.accesses.size(); ++a) {
    const Access& access = program.accesses[a];
    const int64_t* strides = args.accesses + a * (rank + 1);
    const bool in_memory = access.buffer != fusion::kNoBuffer;
    const uint64_t offset = static_cast<uint64_t>(strides[rank]);
    *out++ =
        in_memory ? word_of(args.buffers[access.buffer]) + offset * size_of(access.dtype) : offset;
    out = std::copy_n(strides, rank, out);
  }
}

std::vector<uint64_t> pack_table(absl::Span<const TableCall> calls) {
  uint64_t num_entries = 0;
  for (const TableCall& call : calls) num_entries += call.blocks > 0;
  std::vector<uint64_t> table(1 + 3 * num_entries);
  table[0] = num_entries;
  size_t entry = 1;
  uint64_t first_block = 0;
  for (const TableCall& call : calls) {
    if (call.blocks == 0) continue;
    table[entry++] = first_block;
    table[entry++] = static_cast<uint64_t>(call.program);
    table[entry++] = table.size();
    table.insert(table.end(), call.words.begin(), call.words.end());
    first_block += static_cast<uint64_t>(call.blocks);
  }
  return table;
}

}  // namespace sluice::kernels::cuda
