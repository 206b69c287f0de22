#include "kernels/gpu/emit/plan.h"

#include <algorithm>
#include <utility>

#include "fusion/ir/cost.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::Access;
using fusion::Instr;
using fusion::Op;
using fusion::Program;
using fusion::Schedule;
using fusion::StrideClass;
using fusion::ValueId;

constexpr int kVectorBytes = 16;
// What a row's thread takes at a time, whatever the types: the order of reductions depends on it
// (sl_row_team of the prelude).
constexpr int kRowLanes = 4;
// Lanes times weight: more makes the compiler slow, and more lanes don't make long bodies faster.
constexpr int kMaxWeight = 256;

// About what an instruction costs the compiler, for each lane; an addition is 1.
int compile_weight(Op op) {
  switch (op) {
    // Slow paths, wide integers.
    case Op::kSin:
    case Op::kCos:
    case Op::kTan:
    case Op::kPow:
    case Op::kFloorDivide:
    case Op::kRemainder:
    case Op::kPhilox:
    case Op::kPhiloxHigh:
    case Op::kNormalF32:
    case Op::kNormalF64: return 16;
    default: return fusion::is_costly(op) ? 4 : 1;
  }
}

int compile_weight(const Program& program) {
  int weight = 1;
  for (const Instr& instr : program.body) weight += compile_weight(instr.op);
  return weight;
}

// The size of the widest elements that are accessed one after another, or 0.
int widest_unit_access(const Program& program) {
  size_t widest = 0;
  for (const Access& access : program.accesses) {
    if (access.buffer == fusion::kNoBuffer || access.lanes != StrideClass::kUnit) continue;
    widest = std::max(widest, size_of(access.dtype));
  }
  return static_cast<int>(widest);
}

}  // namespace

int lanes_of(const Program& program) {
  const int widest = widest_unit_access(program);
  if (program.schedule == Schedule::kColumn || widest == 0) return 1;
  const int room = kMaxWeight / compile_weight(program);
  if (program.schedule == Schedule::kRow) return room < kRowLanes ? 1 : kRowLanes;
  int lanes = kVectorBytes / widest;
  while (lanes > 1 && lanes > room) lanes /= 2;
  return lanes;
}

Plan::Plan(const Program& program) {
  fusion::PassPlan plan(program);
  uniform = std::move(plan.uniform);
  reductions = std::move(plan.reductions);
  if (program.schedule == Schedule::kPointwise) {
    const std::vector<bool> is_same = fusion::same_in_all_lanes(program);
    Pass& points = passes.emplace_back();
    for (const ValueId id : plan.rows[0]) (is_same[id] ? points.row : points.lanes).push_back(id);
    points.stores = std::move(plan.row_stores);
    return;
  }
  for (size_t p = 0; p < plan.passes.size(); ++p) {
    fusion::PassPlan::Pass& pass = plan.passes[p];
    passes.push_back({std::move(plan.rows[p]), std::move(pass.values), std::move(pass.reductions),
                      std::move(pass.stores)});
  }
  after = std::move(plan.rows.back());
  row_stores = std::move(plan.row_stores);
}

}  // namespace sluice::kernels::cuda
