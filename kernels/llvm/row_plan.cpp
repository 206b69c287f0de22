#include "kernels/llvm/row_plan.h"

#include <algorithm>
#include <bit>

#include "fusion/ir/cost.h"
#include "kernels/llvm/host.h"
#include "kernels/reduction.h"

namespace sluice::kernels {
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

// Row-level values that are equal in all lanes, where lanes run along an outer dim.
std::vector<bool> find_invariant(const Program& program) {
  std::vector<bool> invariant(program.body.size(), false);
  if (program.lanes_reduced()) return invariant;
  for (size_t i = 0; i < program.body.size(); ++i) {
    const Instr& instr = program.body[i];
    if (instr.level != Level::kRow) continue;
    if (instr.op == Op::kLoad || instr.op == Op::kCoordinate) {
      invariant[i] =
          instr.num_operands == 0 && program.accesses[instr.aux].lanes == StrideClass::kZero;
      continue;
    }
    if (!is_pointwise(instr.op)) continue;
    invariant[i] =
        std::all_of(instr.operands, instr.operands + instr.num_operands, [&](ValueId operand) {
          return program.body[operand].level == Level::kUniform || invariant[operand];
        });
  }
  return invariant;
}

bool is_logical(Op op) {
  return op == Op::kLogicalAnd || op == Op::kLogicalOr || op == Op::kLogicalNot;
}

bool is_index_comparison(const Program& program, const std::vector<bool>& same_in_all_lanes,
                         const Instr& instr) {
  if (instr.op != Op::kLess && instr.op != Op::kLessEqual) return false;
  auto varies = [&](ValueId id) {
    return program.body[id].op == Op::kCoordinate && !same_in_all_lanes[id];
  };
  const ValueId a = instr.operands[0], b = instr.operands[1];
  return (varies(a) && same_in_all_lanes[b]) || (varies(b) && same_in_all_lanes[a]);
}

RowPlan::Ranges find_ranges(const Program& program, const std::vector<bool>& invariant,
                            const std::vector<ValueId>& instrs) {
  // Longer kernels are not worth emitting twice.
  constexpr size_t kMaxInstrs = 400;
  RowPlan::Ranges ranges;
  std::vector<bool>& uniform = ranges.uniform;
  uniform = invariant;
  for (size_t i = 0; i < uniform.size(); ++i) {
    if (program.body[i].level == Level::kUniform) uniform[i] = true;
  }
  if (program.body.size() > kMaxInstrs) {
    ranges.rest = instrs;
    return ranges;
  }
  std::vector<bool> is_range(program.body.size(), false);
  for (const ValueId id : instrs) {
    const Instr& instr = program.body[id];
    if (is_index_comparison(program, uniform, instr)) {
      is_range[id] = true;
      ranges.comparisons.push_back(id);
    } else if (is_logical(instr.op) &&
               std::all_of(
                   instr.operands, instr.operands + instr.num_operands,
                   [&](ValueId operand) { return is_range[operand] || uniform[operand]; })) {
      is_range[id] = true;
      ranges.derived.push_back(id);
    } else {
      ranges.rest.push_back(id);
    }
  }
  for (size_t i = 0; i < uniform.size(); ++i) uniform[i] = uniform[i] || is_range[i];
  return ranges;
}

// Element-level values that cost more to compute again than to keep and read back.
std::vector<bool> find_expensive(const Program& program) {
  std::vector<bool> expensive(program.body.size(), false);
  for (size_t i = 0; i < program.body.size(); ++i) {
    const Instr& instr = program.body[i];
    if (instr.level != Level::kElement) continue;
    const bool is_load = instr.op == Op::kLoad || instr.op == Op::kGather;
    expensive[i] = fusion::is_costly(instr.op) || instr.op == Op::kGather ||
                   (is_load && (instr.num_operands > 0 ||
                                program.accesses[instr.aux].lanes == StrideClass::kAny));
    for (int k = 0; k < instr.num_operands; ++k)
      expensive[i] = expensive[i] || expensive[instr.operands[k]];
  }
  return expensive;
}

// Lanes that fill one vector with values of the type that most of the body computes in.
int lanes_of_vector(const Program& program) {
  int narrow = 1;
  int wide_instrs = 0;
  int instrs = 0;
  for (const Instr& instr : program.body) {
    if (instr.level == Level::kUniform || instr.dtype == DType::kBool) continue;
    const int size = static_cast<int>(size_of(compute_type(instr.dtype)));
    ++instrs;
    if (size == 8)
      ++wide_instrs;
    else
      narrow = std::max(narrow, size);
  }
  const int size = 2 * wide_instrs > instrs ? 8 : narrow;
  return std::clamp(host().vector_bytes / size, 4, 64);
}

// Vectors at a time that a column's lanes are made of, so that the additions of several overlap and
// whole cache lines are read; fewer in long bodies, which would run out of registers.
int column_vectors(const Program& program) { return program.body.size() <= 8 ? 4 : 1; }

// Vectors at a time in a pointwise loop: an elementary function is one long chain of dependent
// operations, and two of them side by side hide each other's latency (measured: a tenth to a
// fifth).
constexpr int kPointwiseVectors = 2;

}  // namespace

RowPlan::RowPlan(const Program& program, bool keep) {
  const std::vector<uint8_t> pass = fusion::pass_of(program);
  const std::vector<bool> is_invariant = find_invariant(program);
  const int count = fusion::num_passes(program);
  passes.resize(program.reduced_rank == 0 ? 0 : count);
  before.resize(passes.size() + 1);

  auto stage = [&](ValueId id) -> Step& {
    return before[std::min<size_t>(pass[id], before.size() - 1)];
  };
  // needed[p][v]: pass p computes v.
  std::vector<std::vector<bool>> needed(passes.size(),
                                        std::vector<bool>(program.body.size(), false));
  for (size_t i = 0; i < program.body.size(); ++i) {
    const ValueId id = static_cast<ValueId>(i);
    const Instr& instr = program.body[i];
    if (is_reduction(instr.op)) {
      const ValueId operand = instr.operands[0];
      reductions.push_back(id);
      passes[pass[operand]].reductions.push_back(id);
      needed[pass[operand]][operand] = true;
      if (pass[operand] != 0) splits_rows_ = false;
    } else if (instr.level == Level::kUniform) {
      uniform.push_back(id);
    } else if (is_invariant[i]) {
      invariant.push_back(id);
    } else if (instr.level == Level::kRow) {
      stage(id).instrs.push_back(id);
    } else if (instr.op == Op::kCheckIndex && pass[i] < passes.size()) {
      needed[pass[i]][i] = true;  // for its effect
    }
  }
  for (const Store& store : program.stores) {
    if (program.accesses[store.access].varies_along_reduced) {
      passes[pass[store.value]].stores.push_back(store);
      needed[pass[store.value]][store.value] = true;
    } else {
      stage(store.value).stores.push_back(store);
    }
  }
  const std::vector<bool> expensive = find_expensive(program);
  // The pass that first computes an element-level value.
  std::vector<int> made_in(program.body.size(), -1);
  for (size_t p = 0; p < passes.size(); ++p) {
    for (size_t i = program.body.size(); i-- > 0;) {
      const Instr& instr = program.body[i];
      if (!needed[p][i] || instr.level != Level::kElement) continue;
      const ValueId id = static_cast<ValueId>(i);
      if (keep && made_in[i] >= 0 && expensive[i]) {
        passes[p].restored.push_back(id);
        std::vector<ValueId>& made_kept = passes[made_in[i]].kept;
        if (std::find(kept.begin(), kept.end(), id) == kept.end()) {
          kept.push_back(id);
          made_kept.push_back(id);
        }
        continue;
      }
      if (made_in[i] < 0) made_in[i] = static_cast<int>(p);
      passes[p].instrs.push_back(id);
      for (int k = 0; k < instr.num_operands; ++k) needed[p][instr.operands[k]] = true;
    }
    std::reverse(passes[p].instrs.begin(), passes[p].instrs.end());
  }

  if (program.schedule == Schedule::kPointwise) {
    ranges = find_ranges(program, is_invariant, before[0].instrs);
  }

  switch (program.schedule) {
    case Schedule::kPointwise:
      lanes = std::min(64, lanes_of_vector(program) * kPointwiseVectors);
      break;
    case Schedule::kRow:
      if (!program.lanes_across_rows) {
        lanes = static_cast<int>(kLanes);
        break;
      }
      [[fallthrough]];
    case Schedule::kColumn:
      lanes = std::min(64, lanes_of_vector(program) * column_vectors(program));
      break;
  }
}

}  // namespace sluice::kernels
