#include "fusion/lower/program_builder.h"

#include <algorithm>
#include <utility>

#include "fusion/ir/any_order.h"
#include "fusion/ir/commutative.h"
#include "fusion/ir/cost.h"
#include "fusion/ir/scan.h"
#include "fusion/lower/loops/pack_rows.h"
#include "fusion/lower/loops/split_planes.h"
#include "fusion/lower/loops/unroll_planes.h"
#include "fusion/lower/loops/widen_bounds.h"
#include "fusion/lower/moved_bools.h"

namespace sluice::fusion {
namespace {

// Elements of a row, or of a vector of columns, that a thread may cache: a part of its second-level
// cache.
constexpr int64_t kMaxCachedElements = 65536;
constexpr int64_t kLanesOfColumn = 16;

// Runs that cut many of the vectors of the row schedule, in rows that are worth copying them.
constexpr int64_t kLongRun = 128;
constexpr int64_t kLanesOfRow = 32;
constexpr int64_t kMinElementsOfRuns = 32, kMinElementsOfShortestRuns = 256;

}  // namespace

ProgramBuilder::ProgramBuilder(std::vector<Dim> dims, Schedule schedule) {
  constexpr size_t kFewAccesses = 4, kFewInstrs = 16;
  nest_.dims = std::move(dims);
  nest_.addresses.reserve(kFewAccesses);
  call_.program.schedule = schedule;
  call_.program.accesses.reserve(kFewAccesses);
  call_.program.body.reserve(kFewInstrs);
}

bool ProgramBuilder::varies(const Affine& address, bool reduced) const {
  for (size_t d = 0; d < nest_.dims.size(); ++d) {
    // A row of one element has nothing to vary along; outer dims of extent 1 stay as any other, so
    // that a single point needs no kernel of its own.
    if (reduced && nest_.dims[d].extent == 1) continue;
    if (nest_.dims[d].reduced == reduced && address.coefficient[d] != 0) return true;
  }
  return false;
}

// True if lanes along the last dim are apart in memory and those along another one are not. Dims
// may yet change places.
bool ProgramBuilder::is_across(const Affine& address) const {
  const auto& coefficient = address.coefficient;
  int64_t along_lanes = 0;
  bool has_unit = false;
  for (size_t d = 0; d < nest_.dims.size(); ++d) {
    if (nest_.dims[d].extent == 1) continue;
    along_lanes = coefficient[d];
    has_unit |= coefficient[d] == 1;
  }
  return has_unit && along_lanes != 0 && along_lanes != 1;
}

uint16_t ProgramBuilder::buffer(const MemoryRef& memory) {
  const auto it = std::find(call_.buffers.begin(), call_.buffers.end(), memory);
  if (it != call_.buffers.end()) return static_cast<uint16_t>(it - call_.buffers.begin());
  call_.buffers.push_back(memory);
  return static_cast<uint16_t>(call_.buffers.size() - 1);
}

void ProgramBuilder::set_block(const MemoryRef& memory, const Block& block) {
  const size_t number = buffer(memory);
  blocks_.resize(call_.buffers.size());
  blocks_[number] = block;
}

uint16_t ProgramBuilder::access(const MemoryRef* memory, DType dtype, const Affine& address) {
  Access access;
  access.buffer = memory != nullptr ? buffer(*memory) : kNoBuffer;
  access.dtype = dtype;
  WordHash hash;
  hash.add(access.buffer).add(static_cast<uint64_t>(dtype)).add(address.offset);
  for (size_t d = 0; d < nest_.dims.size(); ++d) hash.add(address.coefficient[d]);
  const auto [number, is_new] = access_numbers_.find_or_add(hash.value(), [&](uint32_t known) {
    const Access& other = call_.program.accesses[known];
    return other.buffer == access.buffer && other.dtype == dtype &&
           nest_.addresses[known] == address;
  });
  if (is_new) {
    access.varies_along_outer = varies(address, false);
    access.varies_along_reduced = varies(address, true);
    call_.program.accesses.push_back(access);
    nest_.addresses.push_back(address);
    if (memory != nullptr && is_across(address)) weight_ += kWeightOfTile;
  }
  return static_cast<uint16_t>(number);
}

ValueId ProgramBuilder::emit(Op op, DType dtype, std::initializer_list<ValueId> operands,
                             uint16_t aux) {
  std::vector<Instr>& body = call_.program.body;
  Instr instr;
  instr.op = op;
  instr.dtype = dtype;
  instr.aux = aux;
  instr.level = Level::kUniform;
  for (ValueId operand : operands) {
    if (operand == kNoValue) continue;
    instr.level = std::max(instr.level, body[operand].level);
    instr.operands[instr.num_operands++] = operand;
  }
  // As simplification would, which then mostly finds nothing to do.
  if (instr.operands[1] < instr.operands[0] && is_commutative(op)) {
    std::swap(instr.operands[0], instr.operands[1]);
  }
  if (has_access(op)) {
    const Access& access = call_.program.accesses[aux];
    if (access.varies_along_outer) instr.level = std::max(instr.level, Level::kRow);
    if (access.varies_along_reduced) instr.level = Level::kElement;
  }
  if (is_reduction(op)) instr.level = Level::kRow;
  if (op == Op::kExpand) instr.level = Level::kElement;

  const auto [value, is_new] =
      values_.find_or_add(hash_of(instr), [&](uint32_t known) { return body[known] == instr; });
  if (is_new) {
    body.push_back(instr);
    const bool in_rows = instr.level == Level::kElement;
    weight_ += weight_of(op, dtype) * (in_rows ? kLoopsOfRows : 1) +
               long_code_of(op, dtype) * (in_rows ? kLongCodeOfRows : 1);
    if (op == Op::kLoad && instr.num_operands > 0) weight_ += kWeightOfPredicate;
  }
  return static_cast<ValueId>(value);
}

ValueId ProgramBuilder::load(const MemoryRef& memory, DType dtype, const Affine& address,
                             ValueId predicate) {
  return emit(Op::kLoad, dtype, {predicate}, access(&memory, dtype, address));
}

ValueId ProgramBuilder::coordinate(const Affine& index) {
  return emit(Op::kCoordinate, DType::kInt64, {}, access(nullptr, DType::kInt64, index));
}

ValueId ProgramBuilder::scalar(int32_t number, DType dtype) {
  const auto it = std::find(call_.scalars.begin(), call_.scalars.end(), number);
  const uint16_t slot = static_cast<uint16_t>(it - call_.scalars.begin());
  if (it == call_.scalars.end()) call_.scalars.push_back(number);
  return emit(Op::kScalar, dtype, {}, slot);
}

ValueId ProgramBuilder::param(int64_t value) {
  call_.params.push_back(value);
  return emit(Op::kParam, DType::kInt64, {}, static_cast<uint16_t>(call_.params.size() - 1));
}

uint16_t ProgramBuilder::error_slot(NodeId node) {
  call_.error_slots.push_back(node);
  return static_cast<uint16_t>(call_.error_slots.size() - 1);
}

ValueId ProgramBuilder::along_row(ValueId value) {
  const bool varies = call_.program.body[value].level == Level::kElement;
  return varies ? value : emit(Op::kExpand, dtype_of(value), {value});
}

ValueId ProgramBuilder::cast(ValueId value, DType dtype) {
  return dtype_of(value) == dtype ? value : emit(Op::kCast, dtype, {value});
}

ValueId ProgramBuilder::both(ValueId a, ValueId b) {
  if (a == kNoValue || a == b) return b;
  if (b == kNoValue) return a;
  return emit(Op::kLogicalAnd, DType::kBool, {a, b});
}

ValueId ProgramBuilder::sum(ValueId a, ValueId b) {
  if (a == kNoValue) return b;
  if (b == kNoValue) return a;
  return emit(Op::kAdd, DType::kInt64, {a, b});
}

void ProgramBuilder::store(ValueId value, const MemoryRef& memory, const Affine& address) {
  call_.program.stores.push_back({value, access(&memory, dtype_of(value), address)});
  call_.outputs.push_back({buffer(memory), {}, {}});
}

void ProgramBuilder::write_arguments(const std::vector<bool>& in_tiles) {
  Program& program = call_.program;
  program.outer_rank = static_cast<uint8_t>(std::count_if(
      nest_.dims.begin(), nest_.dims.end(), [](const Dim& dim) { return !dim.reduced; }));
  program.reduced_rank = static_cast<uint8_t>(nest_.dims.size() - program.outer_rank);
  program.num_buffers = static_cast<uint16_t>(call_.buffers.size());
  program.num_scalars = static_cast<uint16_t>(call_.scalars.size());
  program.num_params = static_cast<uint16_t>(call_.params.size());
  program.num_error_slots = static_cast<uint16_t>(call_.error_slots.size());
  for (const Dim& dim : nest_.dims) call_.extents.push_back(dim.extent);
  const int lane = program.lane_dim();
  for (size_t i = 0; i < nest_.addresses.size(); ++i) {
    Access& access = program.accesses[i];
    const bool single = nest_.dims[lane].reduced && nest_.dims[lane].extent == 1;  // as in varies()
    const int64_t stride = single ? 0 : nest_.addresses[i].coefficient[lane];
    access.lanes = in_tiles[i]   ? StrideClass::kTile
                   : stride == 1 ? StrideClass::kUnit
                   : stride != 0 ? StrideClass::kAny
                                 : StrideClass::kZero;
    call_.accesses.insert(call_.accesses.end(), nest_.addresses[i].coefficient.begin(),
                          nest_.addresses[i].coefficient.begin() + nest_.dims.size());
    call_.accesses.push_back(nest_.addresses[i].offset);
  }
}

void ProgramBuilder::classify_rows() {
  Program& program = call_.program;
  if (program.reduced_rank == 0) return;
  int64_t elements = 1;
  for (const Dim& dim : nest_.dims) {
    if (dim.reduced) elements *= dim.extent;
  }
  const int64_t run = nest_.dims.back().extent;
  // Vectors that end with the run take some of its elements twice.
  const bool overlaps =
      run >= kLanesOfRow &&
      std::all_of(program.body.begin(), program.body.end(),
                  [](const Instr& instr) { return !is_reduction(instr.op) || may_repeat(instr); });
  if (program.lanes_reduced() && program.reduced_rank > 1 && run < kLongRun &&
      run % kLanesOfRow != 0 && elements >= kMinElementsOfRuns && !overlaps) {
    const bool are_shortest = run < kLanesOfRow && elements >= kMinElementsOfShortestRuns;
    program.runs = are_shortest ? Program::Runs::kShortest : Program::Runs::kShort;
  }
  program.one_leaf = elements <= leaf_size(program.schedule);
  if (!program.lanes_reduced()) elements *= kLanesOfColumn;
  program.caches_rows = num_passes(program) > 1 && elements <= kMaxCachedElements;
}

void ProgramBuilder::find_dependence() {
  const Program& program = call_.program;
  for (size_t s = 0; s < program.stores.size(); ++s) {
    OutputDependence& output = call_.outputs[s];
    std::vector<bool> reached(program.body.size(), false);
    reached[program.stores[s].value] = true;
    for (int v = program.stores[s].value; v >= 0; --v) {
      if (!reached[v]) continue;
      const Instr& instr = program.body[v];
      for (int k = 0; k < instr.num_operands; ++k) reached[instr.operands[k]] = true;
      if (instr.op == Op::kLoad || instr.op == Op::kGather) {
        output.buffers.push_back(program.accesses[instr.aux].buffer);
      } else if (instr.op == Op::kCheckIndex) {
        output.error_slots.push_back(instr.aux);
      }
    }
  }
}

void ProgramBuilder::unroll_planes() {
  simplify_dims(&nest_);
  fusion::unroll_planes(&nest_, &call_);
  split_planes(&nest_, &call_);
}

KernelCall ProgramBuilder::finish(int64_t* bytes_read, int64_t* bytes_written) && {
  Program& program = call_.program;
  move_bools_as_bytes(&program);
  if (takes_any_order(program)) sort_reduced_dims(program, &nest_);
  simplify_dims(&nest_);
  if (program.schedule == Schedule::kPointwise) widen_bounds(&nest_, &call_);
  if (takes_any_schedule(program)) program.schedule = free_schedule(program, nest_);
  // Scans take the elements of a row in order.
  const bool in_order = has_scans(program);
  const bool keeps_lanes = in_order && program.schedule == Schedule::kRow;
  program.lanes_across_rows = !keeps_lanes && arrange_lanes(program, &nest_);
  const std::vector<bool> in_tiles =
      in_order ? std::vector<bool>(nest_.addresses.size(), false) : arrange_tiles(program, &nest_);
  program.tiled = std::find(in_tiles.begin(), in_tiles.end(), true) != in_tiles.end();
  write_arguments(in_tiles);
  pack_rows(nest_, &program);
  classify_rows();
  if (program.packed_rank == 0) program.interleaved = find_interleaved(program, nest_);
  find_dependence();
  blocks_.resize(call_.buffers.size());
  find_leaders(nest_, blocks_, &program);
  const BytesMoved bytes = count_bytes(call_, nest_, blocks_);
  *bytes_read += bytes.read;
  *bytes_written += bytes.written;
  return std::move(call_);
}

}  // namespace sluice::fusion
