#include "kernels/llvm/rows/row_plan.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "fusion/ir/any_order.h"
#include "fusion/ir/cost.h"
#include "fusion/ir/scan.h"
#include "kernels/llvm/body/instr_order.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/packed_plan.h"
#include "kernels/reduction.h"

namespace sluice::kernels {
namespace {

using fusion::Instr;
using fusion::Level;
using fusion::Op;
using fusion::Program;
using fusion::Schedule;
using fusion::Store;
using fusion::StrideClass;
using fusion::ValueId;

// Row-level values that are the same in all lanes, where lanes run along an outer dim, and that can
// be computed as scalars ahead of the loop over it.
std::vector<bool> find_invariant(const Program& program) {
  std::vector<bool> invariant(program.body.size(), false);
  if (program.lanes_reduced() || packing_of(program) != Packing::kNone) return invariant;
  const std::vector<bool> same = fusion::same_in_all_lanes(program);
  for (size_t i = 0; i < program.body.size(); ++i) {
    const Instr& instr = program.body[i];
    if (instr.level != Level::kRow || !same[i]) continue;
    const bool is_read =
        (instr.op == Op::kLoad && instr.num_operands == 0) || instr.op == Op::kCoordinate;
    invariant[i] =
        is_read ||
        ((is_pointwise(instr.op) || instr.op == Op::kCheckIndex) &&
         std::all_of(instr.operands, instr.operands + instr.num_operands, [&](ValueId operand) {
           return program.body[operand].level == Level::kUniform || invariant[operand];
         }));
  }
  return invariant;
}

// Element-level values that are the same in all lanes, where lanes run along an outer dim.
std::vector<bool> find_same_in_element(const Program& program) {
  if (program.lanes_reduced()) return std::vector<bool>(program.body.size(), false);
  std::vector<bool> same = fusion::same_in_all_lanes(program);
  for (size_t i = 0; i < same.size(); ++i) {
    same[i] = same[i] && program.body[i].level == Level::kElement;
  }
  return same;
}

// True for what combines outcomes of comparisons, and distances that they select.
bool combines_outcomes(const Instr& instr) {
  switch (instr.op) {
    case Op::kLogicalAnd:
    case Op::kLogicalOr:
    case Op::kLogicalNot: return true;
    case Op::kWhere:
    case Op::kAdd:
    case Op::kMul: return instr.dtype == DType::kInt64;
    default: return false;
  }
}

RowPlan::Ranges find_ranges(const Program& program, const std::vector<bool>& invariant,
                            const std::vector<ValueId>& instrs) {
  RowPlan::Ranges ranges;
  std::vector<bool>& uniform = ranges.uniform;
  uniform = invariant;
  for (size_t i = 0; i < uniform.size(); ++i) {
    if (program.body[i].level == Level::kUniform) uniform[i] = true;
  }
  ranges.comparisons.resize(program.body.size(), false);
  ranges.moving.resize(program.body.size(), false);
  const std::vector<bool> same = uniform;
  for (const ValueId id : instrs) {
    const Instr& instr = program.body[id];
    const auto [a, b, unused] = instr.operands;
    if (instr.op == Op::kLess || instr.op == Op::kLessEqual) {
      for (const auto& [value, bound] : {std::pair(a, b), std::pair(b, a)}) {
        const std::optional<LaneIndex> index = lane_index(program, value);
        if (!index || !same[bound]) continue;
        if (index->distance != fusion::kNoValue && !uniform[index->distance]) continue;
        ranges.comparisons[id] = true;
        ranges.moving[id] = index->distance != fusion::kNoValue && !same[index->distance];
      }
    }
    if (ranges.comparisons[id] ||
        (combines_outcomes(instr) &&
         std::all_of(instr.operands, instr.operands + instr.num_operands,
                     [&](ValueId operand) { return uniform[operand]; }))) {
      uniform[id] = true;
      ranges.values.push_back(id);
    } else {
      ranges.rest.push_back(id);
    }
  }
  // Longer kernels are not worth emitting twice: lane by lane, unless rolls would have to gather,
  // and then up to each bound, which non-temporal stores do not allow.
  constexpr size_t kMaxInstrs = 400;
  if (program.body.size() <= kMaxInstrs) return ranges;
  ranges.by_lane = false;
  const bool rolls = std::any_of(ranges.rest.begin(), ranges.rest.end(), [&](ValueId id) {
    return program.body[id].op == Op::kGather && uniform[program.body[id].operands[0]];
  });
  if (!rolls || program.nontemporal) {
    uniform = same;
    ranges.values.clear();
    ranges.rest = instrs;
  }
  return ranges;
}

// Element-level values that cost more to compute again than to cache and read back.
std::vector<bool> find_expensive(const Program& program) {
  std::vector<bool> expensive(program.body.size(), false);
  for (size_t i = 0; i < program.body.size(); ++i) {
    const Instr& instr = program.body[i];
    if (instr.level != Level::kElement) continue;
    const bool is_load = instr.op == Op::kLoad || instr.op == Op::kGather;
    expensive[i] = fusion::is_costly(instr.op) || fusion::is_scan(instr.op) ||
                   instr.op == Op::kGather ||
                   (is_load && (instr.num_operands > 0 ||
                                program.accesses[instr.aux].lanes == StrideClass::kAny ||
                                program.accesses[instr.aux].lanes == StrideClass::kTile)) ||
                   std::any_of(instr.operands, instr.operands + instr.num_operands,
                               [&](ValueId operand) { return expensive[operand]; });
  }
  return expensive;
}

// The bytes of a value of `dtype` in a register.
int register_size(DType dtype, bool moves_halves) {
  return static_cast<int>(size_of(moves_halves ? dtype : compute_type(dtype)));
}

// By value: it has lanes. What only such values need that are `uniform` has none.
std::vector<bool> find_varying(const Program& program, const std::vector<bool>& uniform) {
  std::vector<bool> varying(program.body.size(), false);
  for (const Store& store : program.stores) varying[store.value] = true;
  for (size_t i = varying.size(); i-- > 0;) {
    const Instr& instr = program.body[i];
    if (instr.op == Op::kCheckIndex || is_reduction(instr.op)) varying[i] = true;
    if (uniform[i] || instr.level == Level::kUniform) varying[i] = false;
    if (!varying[i]) continue;
    for (int k = 0; k < instr.num_operands; ++k) varying[instr.operands[k]] = true;
  }
  return varying;
}

// By value: a cast whose result only sums take that are narrower in leaves.
std::vector<bool> find_narrowed(const Program& program) {
  std::vector<bool> narrowed(program.body.size(), false), otherwise(program.body.size(), false);
  for (const Store& store : program.stores) otherwise[store.value] = true;
  for (const Instr& instr : program.body) {
    const bool narrows = is_reduction(instr.op) && dtype_in_leaf(program, instr) != instr.dtype;
    for (int k = 0; k < instr.num_operands; ++k) {
      (narrows ? narrowed : otherwise)[instr.operands[k]] = true;
    }
  }
  for (size_t i = 0; i < narrowed.size(); ++i) narrowed[i] = narrowed[i] && !otherwise[i];
  return narrowed;
}

// Lanes that fill one vector with values of the type that most of the body computes in.
int lanes_of_vector(const Program& program, const std::vector<bool>& uniform) {
  int narrow = 1;
  int wide_instrs = 0;
  int instrs = 0;
  const bool moves = moves_halves(program);
  const std::vector<bool> varying = find_varying(program, uniform);
  const std::vector<bool> is_narrowed = find_narrowed(program);
  for (size_t i = 0; i < program.body.size(); ++i) {
    const Instr& instr = program.body[i];
    if (!varying[i] || instr.dtype == DType::kBool || is_narrowed[i]) continue;
    const DType dtype = is_reduction(instr.op) ? dtype_in_leaf(program, instr) : instr.dtype;
    const int size = register_size(dtype, moves);
    ++instrs;
    if (size == 8)
      ++wide_instrs;
    else
      narrow = std::max(narrow, size);
  }
  for (const Store& store : program.stores) {
    const Instr& value = program.body[store.value];
    const DType dtype = is_reduction(value.op) && !is_arg_reduction(value.op)
                            ? dtype_in_leaf(program, value)
                            : value.dtype;
    if (value.level != Level::kUniform) narrow = std::max(narrow, register_size(dtype, moves));
  }
  const int size = 2 * wide_instrs > instrs ? 8 : narrow;
  return std::clamp(host().vector_bytes / size, 4, 64);
}

// Vectors side by side in a column loop, so that their additions overlap and whole cache lines are
// read; fewer in long bodies, which would run out of registers.
int column_vectors(const Program& program, const std::vector<RowPlan::Stage>& passes) {
  constexpr size_t kMaxInstrs = 8, kMaxOfPass = 4;
  // Of what is read by tiles each column is a stream of its own: no more than two short vectors, or
  // a long one. Positions are a chain of operations each, of which several are better under way.
  constexpr int kLongBytes = 64;
  const bool has_positions = std::any_of(program.body.begin(), program.body.end(),
                                         [](const Instr& i) { return is_arg_reduction(i.op); });
  int most = 4;
  if (program.tiled && !has_positions) most = host().vector_bytes < kLongBytes ? 2 : 1;
  if (program.body.size() <= kMaxInstrs) return most;
  const bool fits = std::all_of(passes.begin(), passes.end(), [&](const RowPlan::Stage& pass) {
    return pass.instrs.size() <= kMaxOfPass &&
           std::none_of(pass.instrs.begin(), pass.instrs.end(),
                        [&](ValueId id) { return fusion::is_costly(program.body[id].op); });
  });
  return fits ? most : 1;
}

// Vectors side by side in a pointwise loop: an elementary function is one long chain of dependent
// operations, and two of them hide each other's latency (measured: a tenth to a fifth).
constexpr int kPointwiseVectors = 2;

// True for a chain of cheap operations that is longer than the processor looks ahead, but needs so
// few registers that more than kPointwiseVectors of them fit.
bool is_long_chain(const Program& program, const std::vector<ValueId>& instrs,
                   const std::vector<bool>& uniform) {
  constexpr int kLong = 12, kMostAlive = 3;
  if (host().masked_vectors) return false;
  const std::vector<bool> varying = find_varying(program, uniform);
  const bool is_cheap = std::none_of(program.body.begin(), program.body.end(), [](const Instr& i) {
    return fusion::is_costly(i.op) || !is_float(i.dtype) || is_half(i.dtype);
  });
  return is_cheap && std::count(varying.begin(), varying.end(), true) >= kLong &&
         most_alive(program, instrs, varying) <= kMostAlive;
}

int pointwise_vectors(const Program& program, const std::vector<ValueId>& instrs,
                      const std::vector<bool>& uniform) {
  // Interleaved accesses are several vectors side by side as they are.
  if (!program.interleaved.empty()) return 1;
  return is_long_chain(program, instrs, uniform) ? 2 * kPointwiseVectors : kPointwiseVectors;
}
// Packed rows are emitted once for each point of a row: one vector, and no wider one for bytes.
constexpr int kPackedLanes = 16;

// Where each row is a block: what varies along the rows only has no lanes.
int lanes_of_row(const Program& program) {
  int widest = 1;
  const bool moves = moves_halves(program);
  for (const fusion::Access& access : program.accesses) {
    if (access.buffer == fusion::kNoBuffer || !access.varies_in_row) continue;
    widest = std::max(widest, register_size(access.dtype, moves));
  }
  const auto row = static_cast<unsigned>(program.packed_points());
  if (!host().masked_vectors) {
    return std::min(static_cast<int>(std::bit_floor(row)), host().vector_bytes / widest);
  }
  // Vectors that cross the end of a cache line are slower, with however few lanes.
  const auto points = std::bit_ceil(row);
  constexpr int kFewestBytes = 16;
  return std::clamp(static_cast<int>(points), kFewestBytes / widest, host().vector_bytes / widest);
}

// `uniform`: by value, the same in all lanes of nearly every vector.
int lanes_of(const Program& program, const std::vector<bool>& uniform,
             const std::vector<ValueId>& instrs, const std::vector<RowPlan::Stage>& passes) {
  const int lanes = lanes_of_vector(program, uniform);
  if (program.lanes_reduced()) {
    // Where the order is free, so many that their chains of operations overlap.
    constexpr int kVectors = 4, kMostLanes = 64;
    constexpr size_t kMaxInstrs = 8;
    const bool is_free =
        fusion::takes_any_order(program) && !program.tiled && program.body.size() <= kMaxInstrs;
    if (!is_free) return static_cast<int>(kLanes);
    // More than these would not fit the registers; a lane of a narrow sum takes no more of a leaf.
    const bool is_narrow = std::any_of(
        program.body.begin(), program.body.end(),
        [&](const Instr& i) { return is_reduction(i.op) && dtype_in_leaf(program, i) != i.dtype; });
    const auto most = static_cast<int>(kLanes);
    const int fewest = is_narrow ? most : std::min(kVectors * lanes, most);
    if (program.one_leaf) return fewest;
    // Runs of several dims are short, mostly.
    const int vectors = program.reduced_rank == 1 ? kVectors : 1;
    return std::clamp(vectors * lanes, fewest, kMostLanes);
  }
  const Packing packing = packing_of(program);
  if (packing == Packing::kLanes) {
    if (moves_whole_rows(program)) return lanes_of_whole_rows(program);
    const bool is_whole = !host().masked_vectors && !program.nontemporal && reads_windows(program);
    return is_whole ? lanes_of_moved(program) : std::min(lanes, kPackedLanes);
  }
  if (packing == Packing::kRow) return lanes_of_row(program);
  const bool is_pointwise = program.schedule == Schedule::kPointwise;
  return std::min(64, lanes * (is_pointwise ? pointwise_vectors(program, instrs, uniform)
                                            : column_vectors(program, passes)));
}

}  // namespace

std::optional<LaneIndex> lane_index(const Program& program, ValueId value) {
  auto varies = [&](ValueId id) {
    return program.body[id].op == Op::kCoordinate &&
           program.accesses[program.body[id].aux].lanes != StrideClass::kZero;
  };
  const Instr& instr = program.body[value];
  if (varies(value)) return LaneIndex{instr.aux, fusion::kNoValue};
  if (instr.op != Op::kAdd) return std::nullopt;
  const auto [a, b, unused] = instr.operands;
  if (varies(a)) return LaneIndex{program.body[a].aux, b};
  if (varies(b)) return LaneIndex{program.body[b].aux, a};
  return std::nullopt;
}

bool is_of_sign(Op op) { return op == Op::kNeg || op == Op::kAbs; }

bool moves_halves(const Program& program) {
  return std::all_of(program.body.begin(), program.body.end(), [&](const Instr& instr) {
    const bool moves = instr.op == Op::kWhere || is_of_sign(instr.op);
    const bool reads = instr.op == Op::kLoad || instr.op == Op::kGather || instr.op == Op::kScalar;
    if (is_half(instr.dtype) && !moves && !reads) return false;
    return moves ||
           std::none_of(instr.operands, instr.operands + instr.num_operands,
                        [&](ValueId operand) { return is_half(program.body[operand].dtype); });
  });
}

DType dtype_in_leaf(const Program& program, const Instr& reduction) {
  // A lane takes so many elements of a leaf.
  constexpr int64_t kMostOfLane = 16;
  static_assert(fusion::leaf_size(Schedule::kColumn) <= kMostOfLane &&
                fusion::leaf_size(Schedule::kRow) <= kMostOfLane * kLanes);
  if (reduction.op != Op::kSum || is_float(reduction.dtype) || program.lanes_across_rows) {
    return reduction.dtype;
  }
  const Instr& element = program.body[reduction.operands[0]];
  if (element.op != Op::kCast) return reduction.dtype;
  switch (program.body[element.operands[0]].dtype) {
    case DType::kBool: return DType::kUInt8;
    case DType::kInt8: return DType::kInt16;
    case DType::kUInt8: return DType::kUInt16;
    case DType::kInt16: return DType::kInt32;
    case DType::kUInt16: return DType::kUInt32;
    default: return reduction.dtype;
  }
}

RowPlan::RowPlan(const Program& program, bool caches)
    : RowPlan(program,
              fusion::PassPlan(program, caches ? find_expensive(program) : std::vector<bool>{})) {}

RowPlan::RowPlan(const Program& program, fusion::PassPlan plan)
    : uniform(std::move(plan.uniform)),
      same_in_element(find_same_in_element(program)),
      before(plan.rows.size()),
      passes(plan.passes.size()),
      reductions(plan.reductions),
      splits_rows(plan.splits_rows()) {
  const std::vector<bool> is_invariant = find_invariant(program);
  for (size_t r = 0; r < before.size(); ++r) {
    for (const ValueId id : plan.rows[r]) {
      (is_invariant[id] ? invariant : before[r].instrs).push_back(id);
    }
  }
  for (const Store& store : plan.row_stores)
    before[plan.row_of(store.value)].stores.push_back(store);
  for (size_t p = 0; p < passes.size(); ++p) {
    fusion::PassPlan::Pass& pass = plan.passes[p];
    for (auto id = pass.cached.rbegin(); id != pass.cached.rend(); ++id) {
      passes[p].from_cache.push_back(*id);
      if (std::find(cached.begin(), cached.end(), *id) != cached.end()) continue;
      cached.push_back(*id);
      passes[plan.first_pass[*id]].to_cache.push_back(*id);
    }
    passes[p].instrs = std::move(pass.values);
    passes[p].reductions = std::move(pass.reductions);
    passes[p].stores = std::move(pass.stores);
  }
  if (program.schedule == Schedule::kPointwise && packing_of(program) == Packing::kNone) {
    save_registers(program, find_varying(program, is_invariant), kPointwiseVectors,
                   &before[0].instrs);
    ranges = find_ranges(program, is_invariant, before[0].instrs);
  }
  lanes = lanes_of(program, ranges.values.empty() ? is_invariant : ranges.uniform, before[0].instrs,
                   passes);
}

}  // namespace sluice::kernels
