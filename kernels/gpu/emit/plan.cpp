#include "kernels/gpu/emit/plan.h"

#include <algorithm>

#include "fusion/ir/cost.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::Access;
using fusion::Instr;
using fusion::Level;
using fusion::Op;
using fusion::Program;
using fusion::Schedule;
using fusion::Store;
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

// Values of a pointwise program that are equal in all lanes.
std::vector<bool> same_in_all_lanes(const Program& program) {
  std::vector<bool> same(program.body.size());
  for (size_t i = 0; i < program.body.size(); ++i) {
    const Instr& instr = program.body[i];
    const bool has_access =
        instr.op == Op::kLoad || instr.op == Op::kGather || instr.op == Op::kCoordinate;
    same[i] = (!has_access || program.accesses[instr.aux].lanes == StrideClass::kZero) &&
              std::all_of(instr.operands, instr.operands + instr.num_operands,
                          [&](ValueId operand) { return same[operand]; });
  }
  return same;
}

// Values that each lane has of its own.
std::vector<bool> find_lanes(const Program& program) {
  std::vector<bool> result(program.body.size());
  if (program.schedule == Schedule::kPointwise) {
    result = same_in_all_lanes(program);
    result.flip();
    return result;
  }
  for (size_t i = 0; i < program.body.size(); ++i) {
    result[i] = program.body[i].level == Level::kElement;
  }
  return result;
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

Plan::Plan(const Program& program)
    : passes(program.reduced_rank == 0 ? 1 : fusion::num_passes(program)) {
  const std::vector<uint8_t> pass = fusion::pass_of(program);
  const std::vector<bool> in_lanes = find_lanes(program);
  const size_t count = program.body.size();
  // needed[p][v]: the lanes of pass p compute v.
  std::vector<std::vector<bool>> needed(passes.size(), std::vector<bool>(count, false));

  for (size_t i = 0; i < count; ++i) {
    const ValueId id = static_cast<ValueId>(i);
    const Instr& instr = program.body[i];
    if (is_reduction(instr.op)) {
      const ValueId operand = instr.operands[0];
      reductions.push_back(id);
      passes[pass[operand]].reductions.push_back(id);
      needed[pass[operand]][operand] = true;
    } else if (in_lanes[i]) {
      const bool has_effect = instr.op == Op::kCheckIndex && pass[i] < passes.size();
      if (has_effect) needed[pass[i]][i] = true;
    } else if (instr.level == Level::kUniform) {
      uniform.push_back(id);
    } else {
      (pass[i] < passes.size() ? passes[pass[i]].row : after).push_back(id);
    }
  }
  for (const Store& store : program.stores) {
    const bool once_a_row = program.schedule != Schedule::kPointwise &&
                            !program.accesses[store.access].varies_along_reduced;
    if (once_a_row) {
      row_stores.push_back(store);
      continue;
    }
    passes[pass[store.value]].stores.push_back(store);
    needed[pass[store.value]][store.value] = true;
  }
  for (size_t p = 0; p < passes.size(); ++p) {
    for (size_t i = count; i-- > 0;) {
      if (!needed[p][i] || !in_lanes[i]) continue;
      passes[p].lanes.push_back(static_cast<ValueId>(i));
      const Instr& instr = program.body[i];
      for (int k = 0; k < instr.num_operands; ++k) needed[p][instr.operands[k]] = true;
    }
    std::reverse(passes[p].lanes.begin(), passes[p].lanes.end());
  }
}

}  // namespace sluice::kernels::cuda
