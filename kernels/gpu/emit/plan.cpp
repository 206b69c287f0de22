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
constexpr int kMaxWeight = 512;

// About what an instruction costs the compiler, for each lane; an addition is 1, and what lanes
// share is nothing.
int compile_weight(Op op) {
  switch (op) {
    case Op::kScalar:
    case Op::kParam: return 0;
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
    case Op::kNormalF64: return 32;
    default: return fusion::is_costly(op) ? 8 : 1;
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

// What a thread should have on its way from memory, so that those of two blocks cover the time that
// a multiprocessor waits for it.
constexpr int kBytesUnderWay = 64;
// Registers that a thread's part of a row may take: with more, fewer blocks would wait for memory
// at a time, and long rows are in a cache of the multiprocessor as well.
constexpr int kMostRegistersKept = 32;
// Bodies times weight of the passes over a kept row, which are all written out.
constexpr int kMaxKeptWeight = 1024;

// Its value comes from memory as soon as the address is known.
bool loads_ahead(const Instr& instr) { return instr.op == Op::kLoad && instr.num_operands == 0; }

// How many bodies of a pass load before the first goes on.
int batch_of(const Program& program, const Plan::Pass& pass, int lanes) {
  int64_t bytes = 0;
  int weight = 1;
  for (const ValueId id : pass.lanes) {
    const Instr& instr = program.body[id];
    weight += compile_weight(instr.op);
    if (loads_ahead(instr)) bytes += lanes * static_cast<int64_t>(size_of(instr.dtype));
  }
  if (bytes == 0) return 1;
  // A leaf of a column has 16 elements of a thread; a batch has to divide it.
  const bool by_elements = program.schedule == Schedule::kColumn || program.lanes_across_rows ||
                           has_chunks_across(program);
  const int64_t most = by_elements ? 16 : 8;
  int batch = 1;
  while (2 * batch <= most && 2 * batch * bytes <= kBytesUnderWay &&
         2 * batch * lanes * weight <= kMaxWeight) {
    batch *= 2;
  }
  return batch;
}

// What of a pass is computed if it takes `kept` values from passes before it.
std::vector<ValueId> computed_of(const Program& program, const Plan::Pass& pass,
                                 const std::vector<bool>& kept) {
  std::vector<bool> needed(program.body.size(), false);
  for (const ValueId id : pass.reductions) needed[program.body[id].operands[0]] = true;
  for (const fusion::Store& store : pass.stores) needed[store.value] = true;
  std::vector<ValueId> computed;
  for (size_t k = pass.lanes.size(); k-- > 0;) {
    const ValueId id = pass.lanes[k];
    const Instr& instr = program.body[id];
    // Whoever else is in a pass raises an error.
    if (!needed[id] && instr.op != Op::kCheckIndex) continue;
    if (kept[id]) continue;
    computed.push_back(id);
    for (int n = 0; n < instr.num_operands; ++n) needed[instr.operands[n]] = true;
  }
  std::reverse(computed.begin(), computed.end());
  return computed;
}

// What passes compute if those of `values` that an earlier one has are kept, and what of a row is
// kept at most from one pass to the next.
struct Keeping {
  std::vector<std::vector<ValueId>> lanes;
  int64_t registers = 0;  // for each lane
  int weight = 0;
};

Keeping keeping(const Program& program, const std::vector<Plan::Pass>& passes,
                const std::vector<bool>& values) {
  const size_t count = program.body.size();
  Keeping result;
  std::vector<bool> available(count, false);
  std::vector<size_t> made(count, 0), last_use(count, 0);
  for (size_t p = 0; p < passes.size(); ++p) {
    result.lanes.push_back(computed_of(program, passes[p], available));
    auto use = [&](ValueId id) { last_use[id] = p; };
    for (const ValueId id : result.lanes[p]) {
      const Instr& instr = program.body[id];
      result.weight += compile_weight(instr.op);
      for (int n = 0; n < instr.num_operands; ++n) use(instr.operands[n]);
      if (!values[id]) continue;
      available[id] = true;
      made[id] = p;
    }
    for (const ValueId id : passes[p].reductions) use(program.body[id].operands[0]);
    for (const fusion::Store& store : passes[p].stores) use(store.value);
  }
  for (size_t p = 1; p < passes.size(); ++p) {
    int64_t registers = 0;
    for (size_t id = 0; id < count; ++id) {
      if (!available[id] || made[id] >= p || last_use[id] < p) continue;
      registers += size_of(compute_type(program.body[id].dtype)) == 8 ? 2 : 1;
    }
    result.registers = std::max(result.registers, registers);
  }
  return result;
}

// Of what passes repeat of others before them, what they need for anything new.
std::vector<bool> repeated_for_new(const Program& program, const std::vector<Plan::Pass>& passes) {
  const size_t count = program.body.size();
  std::vector<bool> seen(count, false), found(count, false);
  for (const Plan::Pass& pass : passes) {
    const std::vector<bool> is_old = seen;
    auto use = [&](ValueId id) {
      if (is_old[id]) found[id] = true;
    };
    for (const ValueId id : pass.lanes) {
      seen[id] = true;
      if (is_old[id]) continue;
      const Instr& instr = program.body[id];
      for (int n = 0; n < instr.num_operands; ++n) use(instr.operands[n]);
    }
    for (const ValueId id : pass.reductions) use(program.body[id].operands[0]);
    for (const fusion::Store& store : pass.stores) use(store.value);
  }
  return found;
}

Plan::Kept keep(const Program& program, const std::vector<Plan::Pass>& passes, int lanes) {
  Plan::Kept kept;
  if (program.schedule != Schedule::kRow || lanes != kRowLanes || passes.size() < 2) return kept;
  std::vector<bool> values(program.body.size(), false);
  for (size_t id = 0; id < values.size(); ++id) values[id] = loads_ahead(program.body[id]);
  Keeping best = keeping(program, passes, values);
  // Instead of what is loaded, what is computed of it, if that takes no more registers.
  const std::vector<bool> others = repeated_for_new(program, passes);
  if (Keeping other = keeping(program, passes, others);
      other.registers <= std::max<int64_t>(best.registers, 1)) {
    best = std::move(other);
    values = others;
  }
  if (best.registers == 0) return kept;
  constexpr int kLanes = kKeptGroups * kRowLanes;
  if (kLanes * best.registers > kMostRegistersKept) return kept;
  if (kLanes * best.weight > kMaxKeptWeight) return kept;
  kept.registers = static_cast<int>(best.registers);
  kept.lanes = std::move(best.lanes);
  // Only those that a later pass takes.
  for (size_t p = 0; p + 1 < kept.lanes.size(); ++p) {
    for (const ValueId id : kept.lanes[p]) {
      if (!values[id]) continue;
      const auto needs = [&](const Plan::Pass& pass) {
        return std::find(pass.lanes.begin(), pass.lanes.end(), id) != pass.lanes.end();
      };
      if (std::any_of(passes.begin() + static_cast<int64_t>(p) + 1, passes.end(), needs)) {
        kept.values.push_back(id);
      }
    }
  }
  return kept;
}

// Whether what is kept are halves, and little is beside them.
bool keeps_little(const Program& program, const Plan& plan) {
  constexpr size_t kMostLanes = 12, kMostRowValues = 12;
  if (!plan.kept.may_keep() || plan.kept.values.empty()) return false;
  size_t row_values = plan.after.size();
  for (const Plan::Pass& pass : plan.passes) {
    row_values += pass.row.size();
    if (pass.lanes.size() > kMostLanes) return false;
  }
  return row_values <= kMostRowValues &&
         std::all_of(plan.kept.values.begin(), plan.kept.values.end(),
                     [&](ValueId id) { return is_half(program.body[id].dtype); });
}

// About how many instructions a lane takes, with those of slow paths.
int instructions_of(const Program& program, const Instr& instr) {
  switch (instr.op) {
    case Op::kExp:
    case Op::kExp2: return 8;
    // A half by what is known once a row takes two.
    case Op::kDiv:
      return is_half(instr.dtype) &&
                     program.body[instr.operands[1]].level != fusion::Level::kElement
                 ? 2
                 : 32;
    default: return compile_weight(instr.op) > 1 ? 64 : 1;
  }
}

// Whether a warp may keep rows of a block, eight times what threads keep otherwise, in code that is
// as much longer.
bool is_kept_by_warp(const Program& program, const Plan& plan) {
  constexpr int kMostInstructions = 32;
  constexpr size_t kMostReductions = 2;
  if (!plan.kept.is_little || plan.kept.registers > 1) return false;
  int instructions = 0;
  for (const std::vector<ValueId>& lanes : plan.kept.lanes) {
    for (const ValueId id : lanes) instructions += instructions_of(program, program.body[id]);
  }
  const auto fits = [&](const Plan::Pass& pass) {
    return pass.reductions.size() <= kMostReductions &&
           std::none_of(pass.reductions.begin(), pass.reductions.end(),
                        [&](ValueId id) { return fusion::is_arg_reduction(program.body[id].op); });
  };
  return instructions <= kMostInstructions &&
         std::all_of(plan.passes.begin(), plan.passes.end(), fits);
}

}  // namespace

int lanes_of(const Program& program) {
  const int widest = widest_unit_access(program);
  if (program.schedule == Schedule::kColumn || program.lanes_across_rows || widest == 0) return 1;
  const int room = kMaxWeight / compile_weight(program);
  if (program.schedule == Schedule::kRow) return room < kRowLanes ? 1 : kRowLanes;
  int lanes = kVectorBytes / widest;
  while (lanes > 1 && lanes > room) lanes /= 2;
  return lanes;
}

bool has_short_columns(const Program& program) {
  return program.schedule == Schedule::kColumn && program.one_leaf && !program.tiled;
}

bool has_chunks_across(const Program& program) {
  return program.schedule == Schedule::kRow && program.tiled && lanes_of(program) == 1;
}

bool takes_tiles(const Program& program) {
  if (program.schedule != Schedule::kPointwise || program.outer_rank < 2) return false;
  return std::any_of(program.accesses.begin(), program.accesses.end(), [](const Access& access) {
    return access.buffer != fusion::kNoBuffer && access.lanes == StrideClass::kAny;
  });
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
  const int lanes = lanes_of(program);
  for (Pass& pass : passes) pass.batch = batch_of(program, pass, lanes);
  kept = keep(program, passes, lanes);
  after = std::move(plan.rows.back());
  row_stores = std::move(plan.row_stores);
  kept.is_little = keeps_little(program, *this);
  kept.by_warp = is_kept_by_warp(program, *this);
}

int blocks_of(const Plan& plan, RowWay way) {
  constexpr int kBlocksOfHalves = 6, kBlocksByWarp = 2;
  if (way.kind == RowWay::kKeptByWarp) return kBlocksByWarp;
  return plan.kept.is_little ? kBlocksOfHalves : 1;
}

}  // namespace sluice::kernels::cuda
