#include "sluice/kernels/launch.h"

#include <algorithm>
#include <vector>

#include "sluice/kernels/reduction.h"
#include "sluice/runtime/cpu/parallel.h"

namespace sluice::kernels {
namespace {

using fusion::OpClass;
using fusion::Program;
using fusion::Schedule;
using fusion::TypeRule;

// Waking another thread takes microseconds; each must have this much to do.
constexpr double kWorthAThread = 20e3;  // ns
// Points are given to threads in units of this many: whole cache lines for every type, and lanes
// enough for a vector.
constexpr int64_t kUnit = 64;
// The rows of a column reduction that one work item takes.
constexpr int64_t kColumnRange = 1024;

// A rough cost of one point of the iteration space in ns, as compiled for wide vectors.
double cost_of(const Program& program) {
  constexpr double kStore = 0.05, kLight = 0.04, kHeavy = 0.4;
  double cost = kStore * static_cast<double>(program.stores.size());
  for (const fusion::Instr& instr : program.body) {
    const fusion::OpInfo& info = fusion::op_info(instr.op);
    const bool heavy = info.rule == TypeRule::kFloat || info.rule == TypeRule::kFixed;
    cost += info.op_class == OpClass::kPointwise && heavy ? kHeavy : kLight;
  }
  return cost;
}

int64_t product(const int64_t* extents, int count) {
  int64_t result = 1;
  for (int i = 0; i < count; ++i) result *= extents[i];
  return result;
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Each thread takes a range of whole units of rows.
void split_rows(const Executable& executable, const KernelArgs& args, int64_t rows, int64_t unit,
                double row_cost) {
  const int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(kWorthAThread / row_cost) / unit);
  parallel_for(ceil_div(rows, unit), grain, [&](int64_t begin, int64_t end) {
    executable.entry().rows(executable.context(), &args, begin * unit, std::min(end * unit, rows));
  });
}

// Each thread takes some blocks of ranges of rows; what the blocks gave is then combined.
void split_blocks(const Program& program, const Executable& executable, const KernelArgs& args,
                  int64_t rows, int64_t range, int64_t blocks) {
  const int64_t reductions =
      std::count_if(program.body.begin(), program.body.end(),
                    [](const fusion::Instr& instr) { return fusion::is_reduction(instr.op); });
  const int64_t bytes_per_row = reductions * 2 * 8;
  const int64_t stride = bytes_per_row * range;  // of one block's partials
  const int64_t ranges = ceil_div(rows, range);
  thread_local std::vector<uint64_t> scratch;
  scratch.resize(std::max(scratch.size(), static_cast<size_t>(ranges * blocks * stride / 8)));
  char* const partials = reinterpret_cast<char*>(scratch.data());
  const EntryPoints& entry = executable.entry();
  parallel_for(ranges * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item / blocks * range;
      entry.block(executable.context(), &args, first, std::min(first + range, rows), item % blocks,
                  partials + item * stride);
    }
  });
  for (int64_t r = 0; r < ranges; ++r) {
    entry.finish(executable.context(), &args, r * range, std::min((r + 1) * range, rows), blocks,
                 partials + r * blocks * stride, stride);
  }
}

}  // namespace

void launch(const Program& program, const Executable& executable, const KernelArgs& args) {
  const int64_t rows = product(args.extents, program.kept_rank);
  if (rows == 0) return;
  const int64_t reduced = product(args.extents + program.kept_rank, program.reduced_rank);
  const double row_length = static_cast<double>(std::max<int64_t>(reduced, 1));
  const double points = static_cast<double>(rows) * row_length;
  // A bound first: adding up the cost of a long program takes longer than many small launches.
  const double most = points * static_cast<double>(program.body.size() + program.stores.size());
  if (num_threads() == 1 || most < kWorthAThread || points * cost_of(program) < 2 * kWorthAThread) {
    executable.entry().rows(executable.context(), &args, 0, rows);
    return;
  }
  const double row_cost = cost_of(program) * row_length;
  const int64_t unit = program.schedule == Schedule::kRow ? 1 : kUnit;
  const bool few_rows = rows < num_threads() * unit * 2;
  const int64_t blocks = num_blocks(program.schedule, reduced);
  if (program.reduced_rank > 0 && few_rows && blocks > 1 && executable.entry().block != nullptr &&
      executable.entry().finish != nullptr) {
    const int64_t range = program.schedule == Schedule::kRow ? 1 : kColumnRange;
    split_blocks(program, executable, args, rows, std::min(range, rows), blocks);
  } else {
    split_rows(executable, args, rows, unit, row_cost);
  }
}

}  // namespace sluice::kernels
