#include "fusion/lower/program_builder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

namespace sluice::fusion {
namespace {

// What of a row, or of a vector of columns, a thread may keep: a part of its second-level cache.
constexpr int64_t kMaxCachedElements = 65536;
constexpr int64_t kLanesOfColumn = 16;
// Tiles less wide are not worth it.
constexpr int64_t kMinTileSide = 8;

template <typename T>
void append(std::string* key, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  key->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

ProgramBuilder::ProgramBuilder(std::vector<Dim> dims, Schedule schedule) : dims_(std::move(dims)) {
  call_.program.schedule = schedule;
}

bool ProgramBuilder::varies(const Affine& address, bool reduced) const {
  for (size_t d = 0; d < dims_.size(); ++d) {
    // A row of one element has nothing to vary along; outer dims of extent 1 stay as any other, so
    // that a single point needs no kernel of its own.
    if (reduced && dims_[d].extent == 1) continue;
    if (dims_[d].reduced == reduced && address.coefficient[d] != 0) return true;
  }
  return false;
}

uint16_t ProgramBuilder::buffer(const MemoryRef& memory) {
  const auto it = std::find(call_.buffers.begin(), call_.buffers.end(), memory);
  if (it != call_.buffers.end()) return static_cast<uint16_t>(it - call_.buffers.begin());
  call_.buffers.push_back(memory);
  return static_cast<uint16_t>(call_.buffers.size() - 1);
}

uint16_t ProgramBuilder::access(const MemoryRef* memory, DType dtype, const Affine& address) {
  std::string key;
  append(&key, dtype);
  if (memory != nullptr) append(&key, *memory);
  append(&key, address);
  const auto [it, inserted] =
      access_numbers_.try_emplace(key, static_cast<uint16_t>(addresses_.size()));
  if (inserted) {
    Access access;
    access.buffer = memory != nullptr ? buffer(*memory) : kNoBuffer;
    access.dtype = dtype;
    access.varies_along_outer = varies(address, false);
    access.varies_along_reduced = varies(address, true);
    call_.program.accesses.push_back(access);
    addresses_.push_back(address);
  }
  return it->second;
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
  if (op == Op::kLoad || op == Op::kGather || op == Op::kCoordinate) {
    const Access& access = call_.program.accesses[aux];
    if (access.varies_along_outer) instr.level = std::max(instr.level, Level::kRow);
    if (access.varies_along_reduced) instr.level = Level::kElement;
  }
  if (is_reduction(op)) instr.level = Level::kRow;

  std::string key;
  append(&key, op);
  append(&key, dtype);
  append(&key, aux);
  for (ValueId operand : instr.operands) append(&key, operand);
  const auto [it, inserted] = values_.try_emplace(key, static_cast<ValueId>(body.size()));
  if (inserted) body.push_back(instr);
  return it->second;
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
  if (call_.program.body[value].level == Level::kElement) return value;
  // Both branches of a choice by an address that is always 0 but, to the program, varies
  // everywhere.
  const uint16_t zero = access(nullptr, DType::kInt64, Affine{.offset = 0});
  call_.program.accesses.push_back(call_.program.accesses[zero]);
  addresses_.push_back(addresses_[zero]);
  call_.program.accesses.back().varies_along_outer = true;
  call_.program.accesses.back().varies_along_reduced = true;
  const uint16_t varying = static_cast<uint16_t>(addresses_.size() - 1);
  const ValueId mask = cast(emit(Op::kCoordinate, DType::kInt64, {}, varying), DType::kBool);
  return emit(Op::kWhere, dtype_of(value), {mask, value, value});
}

ValueId ProgramBuilder::cast(ValueId value, DType dtype) {
  return dtype_of(value) == dtype ? value : emit(Op::kCast, dtype, {value});
}

ValueId ProgramBuilder::both(ValueId a, ValueId b) {
  if (a == kNoValue || a == b) return b;
  if (b == kNoValue) return a;
  return emit(Op::kLogicalAnd, DType::kBool, {a, b});
}

void ProgramBuilder::store(ValueId value, const MemoryRef& memory, const Affine& address) {
  call_.program.stores.push_back({value, access(&memory, dtype_of(value), address)});
  call_.outputs.push_back({buffer(memory), {}, {}});
}

// True if every access walks dim d + 1 and then dim d as one dim.
bool ProgramBuilder::mergeable(size_t d) const {
  if (dims_[d].reduced != dims_[d + 1].reduced) return false;
  return std::all_of(addresses_.begin(), addresses_.end(), [&](const Affine& address) {
    return address.coefficient[d] == address.coefficient[d + 1] * dims_[d + 1].extent;
  });
}

void ProgramBuilder::simplify_dims() {
  auto remove = [&](size_t d) {
    for (Affine& address : addresses_) {
      std::copy(address.coefficient.begin() + d + 1, address.coefficient.end(),
                address.coefficient.begin() + d);
      address.coefficient[kMaxDims - 1] = 0;
    }
    dims_.erase(dims_.begin() + d);
  };
  auto count = [&](bool reduced) {
    return std::count_if(dims_.begin(), dims_.end(),
                         [&](const Dim& dim) { return dim.reduced == reduced; });
  };
  for (size_t d = 0; d < dims_.size();) {
    if (dims_[d].extent == 1 && count(dims_[d].reduced) > 1) {
      remove(d);
    } else {
      ++d;
    }
  }
  for (size_t d = 0; d + 1 < dims_.size();) {
    if (mergeable(d)) {
      dims_[d + 1].extent *= dims_[d].extent;
      remove(d);
    } else {
      ++d;
    }
  }
  if (count(false) == 0) {
    dims_.insert(dims_.begin(), Dim{});
    for (Affine& address : addresses_) {
      std::copy_backward(address.coefficient.begin(), address.coefficient.end() - 1,
                         address.coefficient.end());
      address.coefficient[0] = 0;
    }
  }
}

// If more of the elements of rows are consecutive along some outer dim than along the rows, that
// dim becomes the last outer one and lanes run along it.
void ProgramBuilder::arrange_rows() {
  if (call_.program.schedule != Schedule::kRow) return;
  auto is_element = [&](size_t i) {
    return call_.program.accesses[i].buffer != kNoBuffer &&
           call_.program.accesses[i].varies_along_reduced;
  };
  const size_t along_row = dims_.size() - 1;
  int64_t most = 0;
  for (size_t i = 0; i < addresses_.size(); ++i) {
    if (is_element(i)) most += std::abs(addresses_[i].coefficient[along_row]) <= 1 ? 1 : 0;
  }
  size_t best = along_row;
  size_t num_outer = 0;
  for (size_t d = 0; d < dims_.size() && !dims_[d].reduced; ++d) {
    ++num_outer;
    if (dims_[d].extent < kMinTileSide) continue;
    int64_t count = 0;
    for (size_t i = 0; i < addresses_.size(); ++i) {
      count += is_element(i) && addresses_[i].coefficient[d] == 1;
    }
    if (count > most) {
      most = count;
      best = d;
    }
  }
  if (best == along_row) return;
  move_dim(best, num_outer - 1);
  call_.program.lanes_across_rows = true;
}

// Makes dim `from` dim `to`, which is not before it; those between move up.
void ProgramBuilder::move_dim(size_t from, size_t to) {
  std::rotate(dims_.begin() + from, dims_.begin() + from + 1, dims_.begin() + to + 1);
  for (Affine& address : addresses_) {
    auto first = address.coefficient.begin();
    std::rotate(first + from, first + from + 1, first + to + 1);
  }
}

// Reads that are consecutive along some other dim than the lanes' would touch a cache line for each
// element. That dim is put before the lane dim, and they are read by tiles of both.
void ProgramBuilder::arrange_tiles() {
  in_tiles_.assign(addresses_.size(), false);
  const size_t lane = dims_.size() - 1;
  if (call_.program.schedule != Schedule::kPointwise || lane == 0) return;
  if (dims_[lane].extent < kMinTileSide) return;
  std::vector<bool> loaded(addresses_.size(), false);
  std::vector<bool> otherwise(addresses_.size(), false);
  for (const Instr& instr : call_.program.body) {
    if (instr.op == Op::kLoad && instr.num_operands == 0) {
      loaded[instr.aux] = true;
    } else if (instr.op == Op::kLoad || instr.op == Op::kGather || instr.op == Op::kCoordinate) {
      otherwise[instr.aux] = true;
    }
  }
  for (const Store& store : call_.program.stores) otherwise[store.access] = true;

  auto suits = [&](size_t access, size_t dim) {
    const Affine& address = addresses_[access];
    return loaded[access] && !otherwise[access] && address.coefficient[dim] == 1 &&
           std::abs(address.coefficient[lane]) > 1;
  };
  size_t best = lane;
  int64_t most = 0;
  for (size_t d = 0; d < lane; ++d) {
    if (dims_[d].extent < kMinTileSide) continue;
    int64_t count = 0;
    for (size_t i = 0; i < addresses_.size(); ++i) count += suits(i, d);
    if (count > most) {
      most = count;
      best = d;
    }
  }
  if (most == 0) return;
  for (size_t i = 0; i < addresses_.size(); ++i) in_tiles_[i] = suits(i, best);
  move_dim(best, lane - 1);
  call_.program.tiled = true;
}

void ProgramBuilder::write_arguments() {
  Program& program = call_.program;
  program.outer_rank = static_cast<uint8_t>(
      std::count_if(dims_.begin(), dims_.end(), [](const Dim& dim) { return !dim.reduced; }));
  program.reduced_rank = static_cast<uint8_t>(dims_.size() - program.outer_rank);
  program.num_buffers = static_cast<uint16_t>(call_.buffers.size());
  program.num_scalars = static_cast<uint16_t>(call_.scalars.size());
  program.num_params = static_cast<uint16_t>(call_.params.size());
  program.num_error_slots = static_cast<uint16_t>(call_.error_slots.size());
  for (const Dim& dim : dims_) call_.extents.push_back(dim.extent);
  const int lane = program.lane_dim();
  for (size_t i = 0; i < addresses_.size(); ++i) {
    Access& access = program.accesses[i];
    const bool single = dims_[lane].reduced && dims_[lane].extent == 1;  // as in varies()
    const int64_t stride = single ? 0 : addresses_[i].coefficient[lane];
    access.lanes = in_tiles_[i]  ? StrideClass::kTile
                   : stride == 1 ? StrideClass::kUnit
                   : stride != 0 ? StrideClass::kAny
                                 : StrideClass::kZero;
    call_.accesses.insert(call_.accesses.end(), addresses_[i].coefficient.begin(),
                          addresses_[i].coefficient.begin() + dims_.size());
    call_.accesses.push_back(addresses_[i].offset);
  }
}

void ProgramBuilder::classify_rows() {
  Program& program = call_.program;
  if (program.reduced_rank == 0) return;
  int64_t elements = 1;
  for (const Dim& dim : dims_) {
    if (dim.reduced) elements *= dim.extent;
  }
  program.one_block = elements <= kOneBlock;
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

// Of a block that is known by these buffers. At most what lies between the least address and the
// greatest, and at most as many elements as the accesses have points: overlapping windows of a
// stencil count once, slices side by side each.
int64_t ProgramBuilder::bytes_touched(const std::vector<uint16_t>& buffers) const {
  int64_t points = 0;
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t greatest = std::numeric_limits<int64_t>::min();
  int64_t element_size = 0;
  for (size_t i = 0; i < addresses_.size(); ++i) {
    const Access& access = call_.program.accesses[i];
    if (std::find(buffers.begin(), buffers.end(), access.buffer) == buffers.end()) continue;
    element_size = static_cast<int64_t>(size_of(access.dtype));
    const auto block = blocks_.find(access.buffer);
    int64_t elements = 1;
    int64_t low = addresses_[i].offset + (block == blocks_.end() ? 0 : block->second.offset);
    int64_t high = low;
    for (size_t d = 0; d < dims_.size(); ++d) {
      const int64_t stride = addresses_[i].coefficient[d];
      if (stride == 0) continue;
      elements *= dims_[d].extent;
      (stride < 0 ? low : high) += stride * (dims_[d].extent - 1);
    }
    points += elements;
    least = std::min(least, low);
    greatest = std::max(greatest, high);
  }
  int64_t most = std::min(points, greatest - least + 1);
  // Predicated accesses have points outside.
  const auto block = blocks_.find(buffers[0]);
  if (block != blocks_.end() && block->second.elements >= 0) {
    most = std::min(most, block->second.elements);
  }
  return most * element_size;
}

void ProgramBuilder::count_bytes(int64_t* bytes_read, int64_t* bytes_written) const {
  std::vector<bool> is_output(call_.buffers.size(), false);
  for (const OutputDependence& output : call_.outputs) is_output[output.buffer] = true;
  std::map<int32_t, std::vector<uint16_t>> by_block;
  int32_t own = -1;
  for (size_t b = 0; b < call_.buffers.size(); ++b) {
    const auto number = static_cast<uint16_t>(b);
    if (is_output[b]) {
      *bytes_written += bytes_touched({number});
      continue;
    }
    const auto block = blocks_.find(number);
    const bool shared = block != blocks_.end() && block->second.number >= 0;
    by_block[shared ? block->second.number : own--].push_back(number);
  }
  for (const auto& [block, buffers] : by_block) *bytes_read += bytes_touched(buffers);
}

KernelCall ProgramBuilder::finish(int64_t* bytes_read, int64_t* bytes_written) && {
  simplify_dims();
  arrange_rows();
  arrange_tiles();
  write_arguments();
  classify_rows();
  find_dependence();
  count_bytes(bytes_read, bytes_written);
  return std::move(call_);
}

}  // namespace sluice::fusion
