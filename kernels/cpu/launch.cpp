#include "kernels/cpu/launch.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "fusion/ir/cost.h"
#include "kernels/reduction.h"
#include "runtime/cpu/parallel.h"
#include "runtime/integers.h"

namespace sluice::kernels {
namespace {

using fusion::Program;

// A worker takes microseconds to come; each must have this much to do.
constexpr double kWorthAThread = 8e3;  // ns
// One that sleeps takes the caller 15 us to wake, and comes after 50. Workers fall asleep some 100
// us after their last work.
constexpr double kWorthWaking = 60e3;  // ns
constexpr int64_t kStaysAwake = 60e3;  // ns
// Threads take points in units of this many: whole cache lines of every dtype, and whole vectors.
constexpr int64_t kUnit = kNontemporalUnit;
// Of no more columns than that, which are reduced in several passes: parts of cache lines.
constexpr int64_t kFewColumns = 8;
// The rows of a column reduction that one work item takes, if there are enough for all threads.
// They are side by side in memory.
constexpr int64_t kColumnRange = 1024;
// Points of which the caches hold so much that scraps of rows are read as well.
constexpr int64_t kCachedPoints = 2 << 20;
// Runs of a row read through panels that a block takes: several panels, as each line of memory that
// a block has a part of is read for it, and wide ones, if threads have so many blocks each.
constexpr int64_t kStagedRuns = 256, kManyStagedRuns = 1024, kBlocksOfThread = 4;
// Works side by side (are_side_by_side) are run in turns of this many points, which leaves what
// they write of a cache line or page in the caches from one to the next.
constexpr int64_t kTurn = 256;
constexpr size_t kManyWorks = 4;
constexpr int64_t kManyPoints = 2048;  // fewer are one turn

int64_t product(const int64_t* extents, int count) {
  int64_t result = 1;
  for (int i = 0; i < count; ++i) result *= extents[i];
  return result;
}

// A call to be divided.
struct Work {
  explicit Work(const Call& call) : call(&call) {
    const Program& program = *call.program;
    rows = product(call.args.extents, program.outer_rank);
    reduced = product(call.args.extents + program.outer_rank, program.reduced_rank);
    row_cost = call.cost_of_point * static_cast<double>(std::max<int64_t>(reduced, 1));
    unit = program.lanes_reduced() ? 1 : kUnit;
    if (program.tiled && program.reduced_rank == 0)
      unit = kTileHeight * call.args.extents[program.outer_rank - 1];
    if (program.packed_rank > 0) unit = kUnit * program.packed_points();
    block = block_size(program.schedule);
    if (program.tiled && program.lanes_reduced()) {
      const int64_t run = std::max<int64_t>(call.args.extents[program.rank() - 1], 1);
      const int64_t runs = std::clamp(reduced / run / (kBlocksOfThread * num_threads()),
                                      kStagedRuns, kManyStagedRuns);
      block =
          std::max(block, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(runs * run))));
    }
    blocks = std::max<int64_t>(ceil_div(reduced, block), 1);
    if (is_of_columns() && rows <= kUnit && !program.nontemporal && !splits_rows())
      unit = kFewColumns;
  }

  double cost() const { return row_cost * static_cast<double>(rows); }
  // There are fewer rows than threads could take, or columns far away of which each thread would
  // read scraps of memory, but rows have several blocks.
  bool splits_rows() const {
    const EntryPoints& entry = call->executable->entry();
    const bool are_few = rows < num_threads() * unit * 2;
    const bool are_scraps = is_of_columns() && rows < num_threads() * kColumnRange &&
                            rows * reduced > kCachedPoints && blocks >= num_threads();
    return call->program->reduced_rank > 0 && (are_few || are_scraps) && blocks > 1 &&
           entry.block != nullptr && entry.finish != nullptr;
  }
  bool is_of_columns() const {
    return call->program->reduced_rank > 0 && !call->program->lanes_reduced();
  }
  int64_t units() const { return ceil_div(rows, unit); }
  // Into how many pieces of about equal cost it is divided.
  int64_t pieces() const {
    int64_t most = units();
    if (is_of_columns()) {
      most = std::min<int64_t>(most, std::max<int64_t>(num_threads(), rows / kColumnRange));
    }
    return std::clamp<int64_t>(static_cast<int64_t>(cost() / kWorthAThread), 1, most);
  }
  void run_units(int64_t begin, int64_t end) const {
    call->executable->entry().rows(call->executable->context(), &call->args, begin * unit,
                                   std::min(end * unit, rows));
  }

  const Call* call;
  int64_t rows;     // points, in a pointwise kernel
  int64_t reduced;  // elements of a row
  double row_cost;  // ns
  int64_t unit;     // rows are given to threads in multiples of this
  int64_t block;    // elements that a thread takes of a row: a subtree
  int64_t blocks;   // of a row
};

// Each thread takes some blocks of ranges of rows; the partial results are then combined in order.
void split_blocks(const Work& work) {
  const Program& program = *work.call->program;
  const Executable& executable = *work.call->executable;
  const KernelArgs& args = work.call->args;
  const int64_t range = std::min(program.lanes_reduced() ? 1 : kColumnRange, work.rows);
  const int64_t reductions =
      std::count_if(program.body.begin(), program.body.end(),
                    [](const fusion::Instr& instr) { return fusion::is_reduction(instr.op); });
  const int64_t bytes_per_row = reductions * 2 * 8;
  const int64_t stride = bytes_per_row * range;  // of one block's partials
  const int64_t ranges = ceil_div(work.rows, range);
  thread_local std::vector<uint64_t> scratch;
  scratch.resize(std::max(scratch.size(), static_cast<size_t>(ranges * work.blocks * stride / 8)));
  char* const partials = reinterpret_cast<char*>(scratch.data());
  const EntryPoints& entry = executable.entry();
  const double item_cost = work.cost() / static_cast<double>(ranges * work.blocks);
  parallel_for(ranges * work.blocks, 1 + static_cast<int64_t>(kWorthAThread / item_cost),
               [&](int64_t begin, int64_t end) {
                 for (int64_t item = begin; item < end; ++item) {
                   const int64_t first = item / work.blocks * range;
                   const int64_t element = item % work.blocks * work.block;
                   entry.block(executable.context(), &args, first,
                               std::min(first + range, work.rows), element,
                               std::min(element + work.block, work.reduced),
                               partials + item * stride);
                 }
               });
  for (int64_t r = 0; r < ranges; ++r) {
    entry.finish(executable.context(), &args, r * range, std::min((r + 1) * range, work.rows),
                 work.blocks, partials + r * work.blocks * stride, stride);
  }
}

// One parallel loop over pieces of about equal cost of all of `works`.
void run_together(absl::Span<const Work> works) {
  absl::InlinedVector<int64_t, 16> first_piece = {0};  // by work; at last, the number of pieces
  for (const Work& work : works) {
    first_piece.push_back(first_piece.back() + work.pieces());
  }
  parallel_for(first_piece.back(), 1, [&](int64_t begin, int64_t end) {
    size_t w =
        std::upper_bound(first_piece.begin(), first_piece.end(), begin) - first_piece.begin() - 1;
    for (; begin < end; ++w) {
      const int64_t last = std::min(end, first_piece[w + 1]);
      const int64_t pieces = first_piece[w + 1] - first_piece[w];
      auto unit_of = [&](int64_t piece) {
        return works[w].units() * (piece - first_piece[w]) / pieces;
      };
      works[w].run_units(unit_of(begin), unit_of(last));
      begin = last;
    }
  });
}

int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// When the last launch ended that was long enough to be divided.
std::atomic<int64_t> last_end{0};

// Whether there is much to do, or workers are awake, or will stay so from now on, since launches
// follow one another.
bool worth_calling_workers(double cost) {
  if (cost >= kWorthWaking) return true;
  return now() - last_end.load(std::memory_order_relaxed) < kStaysAwake && workers_come();
}

// The one buffer that is written; null if there are several.
const void* written_by(const Work& work) {
  const Program& program = *work.call->program;
  if (program.stores.size() != 1) return nullptr;
  return work.call->args.buffers[program.accesses[program.stores[0].access].buffer];
}

// Whether they may write to the same cache lines and pages, as the parts of a concat along a late
// axis do: many pointwise works of as many points, with one result.
bool are_side_by_side(absl::Span<const Work> works) {
  if (works.size() < kManyWorks || works[0].rows <= kManyPoints) return false;
  const void* const result = written_by(works[0]);
  return result != nullptr && std::all_of(works.begin(), works.end(), [&](const Work& work) {
           return work.call->program->reduced_rank == 0 && work.rows == works[0].rows &&
                  work.unit == works[0].unit && written_by(work) == result;
         });
}

int64_t units_of_turn(const Work& work) { return std::max<int64_t>(1, kTurn / work.unit); }

void run_turns(absl::Span<const Work> works, int64_t begin, int64_t end) {
  const int64_t units = units_of_turn(works[0]);
  for (int64_t turn = begin; turn < end; ++turn) {
    for (const Work& work : works) {
      work.run_units(turn * units, std::min((turn + 1) * units, work.units()));
    }
  }
}

int64_t num_turns(absl::Span<const Work> works) {
  return ceil_div(works[0].units(), units_of_turn(works[0]));
}

void run_here(absl::Span<const Work> works) {
  if (are_side_by_side(works)) return run_turns(works, 0, num_turns(works));
  for (const Work& work : works) work.run_units(0, work.units());
}

void divide(absl::Span<Work> works) {
  if (are_side_by_side(works)) {
    const int64_t turns = num_turns(works);
    const double cost = works[0].cost() * static_cast<double>(works.size()) / turns;
    return parallel_for(turns, 1 + static_cast<int64_t>(kWorthAThread / cost),
                        [&](int64_t begin, int64_t end) { run_turns(works, begin, end); });
  }
  const auto together = std::partition(works.begin(), works.end(),
                                       [](const Work& work) { return work.splits_rows(); });
  for (auto work = works.begin(); work != together; ++work) split_blocks(*work);
  if (together != works.end()) run_together(works.subspan(together - works.begin()));
}

}  // namespace

void launch(absl::Span<const Call> calls) {
  absl::InlinedVector<Work, 1> works;
  double cost = 0;
  for (const Call& call : calls) {
    Work work(call);
    if (work.rows == 0) continue;
    cost += work.cost();
    works.push_back(work);
  }
  if (num_threads() == 1 || cost < 2 * kWorthAThread) return run_here(works);
  worth_calling_workers(cost) ? divide(absl::MakeSpan(works)) : run_here(works);
  last_end.store(now(), std::memory_order_relaxed);
}

void launch(const Program& program, const Executable& executable, const KernelArgs& args) {
  const Call call{&program, &executable, args, fusion::cost_of_point(program)};
  launch({&call, 1});
}

}  // namespace sluice::kernels
