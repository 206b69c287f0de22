// Addresses and loads of packed rows (kernels/llvm/packed_plan.h).
#include <algorithm>
#include <cstdint>
#include <optional>

#include "fusion/ir/packed_rows.h"
#include "kernels/llvm/body/body_emitter.h"
#include "kernels/llvm/host.h"
#include "llvm/Analysis/VectorUtils.h"

namespace sluice::kernels {

using fusion::Access;
using fusion::Instr;
using fusion::StrideClass;
using fusion::ValueId;
using ir::LaneScope;

namespace {

llvm::Constant* constants(llvm::Type* integer_type, const std::vector<int>& values) {
  std::vector<llvm::Constant*> result;
  for (const int value : values) result.push_back(llvm::ConstantInt::get(integer_type, value));
  return llvm::ConstantVector::get(result);
}

}  // namespace

void BodyEmitter::set_packed_rows(const PackedPlan* plan, llvm::Value* row) {
  packed_.plan = plan;
  packed_.row = row;
  packed_.vector = -1;
}

void BodyEmitter::prepare_predicate(ValueId predicate, bool otherwise) {
  llvm::Value* holds = value(predicate);
  if (otherwise) {
    llvm::Value*& opposite = packed_.otherwise[{holds, active_}];
    opposite = ir_.CreateNot(holds);
    holds = opposite;
  }
  llvm::Value* mask = builder_.both(holds, active_);
  packed_.masks[{holds, active_}] = {mask, builder_.any(mask)};
}

void BodyEmitter::set_packed_points(const PackedPlan* plan, llvm::Value* row, int v, bool windows) {
  packed_.plan = plan;
  packed_.row = row;
  packed_.vector = v;
  packed_.windows = windows;
}

llvm::Value* BodyEmitter::packed_offsets(uint16_t access, int v) {
  llvm::Value*& offsets = packed_.offsets[{access, v}];
  if (offsets != nullptr) return offsets;
  llvm::IRBuilder<> at_args(args_block_);
  const int lanes = builder_.lanes();
  auto add = [&](int dim, const auto& index_of) {
    std::vector<int> indices;
    for (int lane = 0; lane < lanes; ++lane) indices.push_back(index_of(lane));
    llvm::Value* step = at_args.CreateVectorSplat(lanes, stride(access, dim));
    llvm::Value* term = at_args.CreateMul(constants(ir_.getInt64Ty(), indices), step);
    offsets = offsets == nullptr ? term : at_args.CreateAdd(offsets, term);
  };
  if (v < 0) {
    add(program_.packed_row_dim(), [](int lane) { return lane; });
    return offsets;
  }
  const PackedPlan& plan = *packed_.plan;
  if (program_.accesses[access].rows != StrideClass::kZero) {
    add(program_.packed_row_dim(), [&](int lane) { return plan.row_of(v, lane); });
  }
  int inner = 1;
  for (int d = program_.packed_rank - 1; d >= 0; --d) {
    const int extent = program_.packed[d];
    add(program_.packed_row_dim() + 1 + d,
        [&](int lane) { return plan.column_of(v, lane) / inner % extent; });
    inner *= extent;
  }
  return offsets;
}

BodyEmitter::Address BodyEmitter::packed_address(uint16_t access) {
  const Access& info = program_.accesses[access];
  const int v = packed_.vector;
  Address result;
  result.base = base(access);
  if (info.rows != StrideClass::kZero) {
    result.scalar = ir_.CreateMul(packed_.row, stride(access, program_.packed_row_dim()));
  }
  if (builder_.lanes() == 1) return result;
  if (v < 0) {
    result.lanes = info.rows;
  } else if (packed_.plan->by_row && info.varies_in_row &&
             fusion::is_consecutive_in_row(program_, info)) {
    result.lanes = StrideClass::kUnit;
    llvm::Value* start = builder_.index(packed_.plan->first_of(v));
    result.scalar = result.scalar == nullptr ? start : ir_.CreateAdd(result.scalar, start);
  } else if (packed_.plan->by_row) {
    result.lanes = info.varies_in_row ? StrideClass::kAny : StrideClass::kZero;
  } else if (info.row_stride == packed_.plan->points &&
             (info.buffer == fusion::kNoBuffer || fusion::is_consecutive_in_row(program_, info))) {
    result.lanes = StrideClass::kUnit;
    result.scalar = ir_.CreateAdd(result.scalar, builder_.index(int64_t{v} * builder_.lanes()));
  } else if (info.varies_in_row || info.rows != StrideClass::kZero) {
    result.lanes = StrideClass::kAny;
  }
  if (result.lanes == StrideClass::kAny) {
    result.offsets = packed_offsets(access, v);
  }
  return result;
}

std::optional<BodyEmitter::Address> BodyEmitter::packed_run(const Instr& gather) {
  const Access& info = program_.accesses[gather.aux];
  const int v = packed_.vector, last = builder_.lanes() - 1;
  if (packed_.plan == nullptr || v < 0 || last == 0 || gather.operands[1] != fusion::kNoValue ||
      program_.packed_rank > 1 || info.lanes != StrideClass::kUnit) {
    return std::nullopt;
  }
  const PackedPlan& plan = *packed_.plan;
  const ValueId index = gather.operands[0];
  if (plan.by_row || plan.row_of(v, 0) != plan.row_of(v, last) ||
      std::find(plan.rows.begin(), plan.rows.end(), index) == plan.rows.end()) {
    return std::nullopt;
  }
  Address result;
  result.lanes = StrideClass::kUnit;
  result.base = base(gather.aux);
  result.scalar = ir_.CreateAdd(ir_.CreateExtractElement(values_[index], uint64_t{0}),
                                builder_.index(plan.column_of(v, 0)));
  if (info.rows != StrideClass::kZero) {
    llvm::Value* row = ir_.CreateAdd(packed_.row, builder_.index(plan.row_of(v, 0)));
    llvm::Value* step = stride(gather.aux, program_.packed_row_dim());
    result.scalar = ir_.CreateAdd(result.scalar, ir_.CreateMul(row, step));
  }
  return result;
}

llvm::Value* BodyEmitter::load_rows(ValueId id) {
  const Instr& gather = program_.body[id];
  const Access& info = program_.accesses[gather.aux];
  const PackedPlan& plan = *packed_.plan;
  llvm::Type* element = builder_.memory_type(gather.dtype);
  const auto size = static_cast<unsigned>(size_of(gather.dtype));
  const llvm::Align align(size);
  const int lanes = builder_.lanes(), rows = lanes / plan.points;
  // A row is one element of as many bytes, or a vector.
  constexpr unsigned kWordBytes = 8, kBitsOfByte = 8;
  const unsigned bytes = size * static_cast<unsigned>(plan.points);
  llvm::Type* type = bytes <= kWordBytes
                         ? static_cast<llvm::Type*>(ir_.getIntNTy(kBitsOfByte * bytes))
                         : builder_.with_lanes(element, plan.points);
  std::vector<llvm::Value*> read;
  for (int r = 0; r < rows; ++r) {
    const int lane = r * plan.points;
    llvm::Value* from =
        ir_.CreateExtractElement(values_[gather.operands[0]], static_cast<uint64_t>(lane));
    if (info.rows != StrideClass::kZero) {
      llvm::Value* row =
          ir_.CreateAdd(packed_.row, builder_.index(plan.row_of(packed_.vector, lane)));
      llvm::Value* step = stride(gather.aux, program_.packed_row_dim());
      from = ir_.CreateAdd(from, ir_.CreateMul(row, step));
    }
    llvm::Value* pointer = ir_.CreateGEP(element, base(gather.aux), from);
    if (active_ != nullptr) {
      // There is no row, and nothing has checked its index.
      llvm::Value* is_active = ir_.CreateExtractElement(active_, static_cast<uint64_t>(lane));
      pointer = ir_.CreateSelect(is_active, pointer, zeros_);
    }
    read.push_back(ir_.CreateAlignedLoad(type, pointer, align));
  }
  if (bytes > kWordBytes) return decode(gather.dtype, llvm::concatenateVectors(ir_, read));
  llvm::Value* result =
      llvm::PoisonValue::get(llvm::FixedVectorType::get(type, static_cast<unsigned>(rows)));
  for (int r = 0; r < rows; ++r) {
    result = ir_.CreateInsertElement(result, read[r], static_cast<uint64_t>(r));
  }
  return decode(gather.dtype, ir_.CreateBitCast(result, builder_.with_lanes(element)));
}

llvm::Value* BodyEmitter::wanted_elements(const Window& window, int first, llvm::Value* wanted) {
  const int lanes = builder_.lanes();
  llvm::Value* none = llvm::Constant::getNullValue(wanted->getType());
  llvm::Value* result = none;
  // Lanes that take an element which another one takes too have their turn after it.
  std::vector<bool> is_done(lanes, false);
  for (bool all_done = false; !all_done;) {
    all_done = true;
    std::vector<int> taken_by(lanes, lanes);
    for (int lane = 0; lane < lanes; ++lane) {
      const int at = window.elements[lane] - first;
      if (is_done[lane] || at < 0 || at >= lanes) continue;
      is_done[lane] = taken_by[at] == lanes;
      all_done = all_done && is_done[lane];
      if (is_done[lane]) taken_by[at] = lane;
    }
    result = ir_.CreateOr(result, ir_.CreateShuffleVector(wanted, none, taken_by));
  }
  return result;
}

llvm::Value* BodyEmitter::load_window(const Instr& instr, llvm::Value* distance,
                                      llvm::Value* wanted) {
  const Access& info = program_.accesses[instr.aux];
  const Window window = window_of(*packed_.plan, packed_.vector, program_, info);
  llvm::Type* element = builder_.memory_type(instr.dtype);
  llvm::Value* start = ir_.CreateMul(packed_.row, builder_.index(info.row_stride));
  if (distance != nullptr) start = ir_.CreateAdd(start, distance);
  llvm::Value* pointer = ir_.CreateGEP(element, base(instr.aux), start);
  pointer = ir_.CreateGEP(element, pointer, builder_.index(window.first));
  const int lanes = builder_.lanes();
  llvm::Type* type = builder_.with_lanes(element);
  const llvm::Align align(size_of(instr.dtype));
  llvm::Value* picked = nullptr;
  for (int k = 0; k < window.vectors; ++k) {
    llvm::Value* from = ir_.CreateConstGEP1_64(element, pointer, int64_t{k} * lanes);
    // Lanes of this vector, else those picked before.
    std::vector<int> mask;
    for (int lane = 0; lane < lanes; ++lane) {
      const int at = window.elements[lane] - window.first - k * lanes;
      mask.push_back(at >= 0 && at < lanes ? lanes + at : lane);
    }
    llvm::Value* vector = nullptr;
    if (wanted != nullptr) {
      vector = ir_.CreateMaskedLoad(type, from, align,
                                    wanted_elements(window, window.first + k * lanes, wanted),
                                    llvm::Constant::getNullValue(type));
    } else {
      vector = ir_.CreateAlignedLoad(type, from, align);
    }
    picked = ir_.CreateShuffleVector(picked == nullptr ? vector : picked, vector, mask);
  }
  return decode(instr.dtype, picked);
}

llvm::Value* BodyEmitter::load_picked(ValueId id) {
  const Instr& instr = program_.body[id];
  const Access& info = program_.accesses[instr.aux];
  const bool is_guarded = instr.num_operands > 0;
  const bool is_whole = packed_.windows && packed_.plan->windows[id];
  llvm::Value* holds = is_guarded ? value(instr.operands[0]) : nullptr;
  const Window window = window_in_row(*packed_.plan, packed_.vector, program_, info);
  llvm::Type* element = builder_.memory_type(instr.dtype);
  llvm::Value* start = builder_.index(window.first);
  if (info.rows != StrideClass::kZero) {
    llvm::Value* step = stride(instr.aux, program_.packed_row_dim());
    start = ir_.CreateAdd(start, ir_.CreateMul(packed_.row, step));
  }
  llvm::Value* pointer = ir_.CreateGEP(element, base(instr.aux), start);
  const int lanes = builder_.lanes();
  const llvm::Align align(size_of(instr.dtype));
  llvm::Type* type = builder_.with_lanes(element);
  llvm::Value* picked = nullptr;
  for (int k = 0; k < window.vectors; ++k) {
    const int elements = window.last - window.first + 1;
    // Without masks the last vector ends with the last element.
    const bool ends = !host().masked_vectors && elements >= lanes && !is_guarded;
    const int first = ends ? std::min(k * lanes, elements - lanes) : k * lanes;
    llvm::Value* from = ir_.CreateConstGEP1_64(element, pointer, first);
    const int count = elements - first;
    llvm::Value* vector = nullptr;
    if (is_guarded && !is_whole) {
      vector = load_masked(type, from, instr.dtype,
                           wanted_elements(window, window.first + first, holds));
    } else if (is_whole || count >= lanes) {
      vector = ir_.CreateAlignedLoad(type, from, align);
    } else {
      vector = load_masked(type, from, instr.dtype, builder_.lanes_below(builder_.index(count)));
    }
    std::vector<int> mask;
    for (int lane = 0; lane < lanes; ++lane) {
      const int at = window.elements[lane] - window.first - first;
      mask.push_back(at >= 0 && at < lanes ? lanes + at : lane);
    }
    picked = ir_.CreateShuffleVector(picked == nullptr ? vector : picked, vector, mask);
  }
  llvm::Value* read = decode(instr.dtype, picked);
  if (!is_guarded || packed_.plan->chosen[id]) return read;
  return ir_.CreateSelect(holds, read, llvm::Constant::getNullValue(read->getType()));
}

llvm::Value* BodyEmitter::distance_if(bool holds, ValueId index) {
  const Instr& instr = program_.body[index];
  if (instr.op == fusion::Op::kWhere) return values_[instr.operands[holds ? 1 : 2]];
  const int chosen = variation_[instr.operands[0]].in_row ? 0 : 1;
  return ir_.CreateAdd(distance_if(holds, instr.operands[chosen]),
                       values_[instr.operands[1 - chosen]]);
}

llvm::Value* BodyEmitter::load_whole(const Address& address, DType dtype) {
  llvm::Value* pointer = scalar_pointer(address, dtype);
  llvm::Type* type = builder_.with_lanes(builder_.memory_type(dtype));
  return decode(dtype, ir_.CreateAlignedLoad(type, pointer, llvm::Align(size_of(dtype))));
}

llvm::Value* BodyEmitter::reads_one_page() {
  constexpr int64_t kPage = 4096;
  LaneScope scalar(1);
  llvm::Value* result = ir_.getTrue();
  for (size_t id = 0; id < program_.body.size(); ++id) {
    if (!packed_.plan->windows[id]) continue;
    const Instr& instr = program_.body[id];
    const auto size = static_cast<int64_t>(size_of(instr.dtype));
    auto check = [&](llvm::Value* distance) {
      const PackedPlan::Reach reach =
          packed_.plan->reach_of(program_, program_.accesses[instr.aux]);
      llvm::Value* pointer = scalar_pointer(packed_address(instr.aux), instr.dtype);
      pointer = ir_.CreateConstGEP1_64(builder_.memory_type(instr.dtype), pointer, reach.first);
      if (distance != nullptr) {
        pointer = ir_.CreateGEP(builder_.memory_type(instr.dtype), pointer, distance);
      }
      llvm::Value* address = ir_.CreatePtrToInt(pointer, ir_.getInt64Ty());
      llvm::Value* in_page = ir_.CreateAnd(address, kPage - 1);
      const int64_t room = kPage - size * reach.count;
      llvm::Value* fits =
          room < 0 ? ir_.getFalse() : ir_.CreateICmpULE(in_page, builder_.index(room));
      result = ir_.CreateAnd(result, fits);
    };
    if (instr.op == fusion::Op::kLoad) {
      check(nullptr);
    } else {
      check(distance_if(true, instr.operands[0]));
      check(distance_if(false, instr.operands[0]));
    }
  }
  return result;
}

llvm::Value* BodyEmitter::load_rolled(ValueId id) {
  const Instr& gather = program_.body[id];
  const bool is_whole = packed_.windows && packed_.plan->windows[id];
  const ValueId index = gather.operands[0];
  llvm::Value* holds = value(*fusion::chooser_of(program_, variation_, index));
  const auto known = packed_.otherwise.find({holds, active_});
  llvm::Value* otherwise = known != packed_.otherwise.end() ? known->second : ir_.CreateNot(holds);
  auto read_where = [&](llvm::Value* predicate, bool chosen) {
    llvm::Value* distance = distance_if(chosen, index);
    if (!packed_.plan->by_row) return load_window(gather, distance, /*wanted=*/nullptr);
    Address at = packed_address(gather.aux);
    at.scalar = at.scalar == nullptr ? distance : ir_.CreateAdd(at.scalar, distance);
    return is_whole ? load_whole(at, gather.dtype) : load(at, gather.dtype, predicate);
  };
  llvm::Value* first = read_where(holds, true);
  return ir_.CreateSelect(holds, first, read_where(otherwise, false));
}

void BodyEmitter::load_columns(ValueId id) {
  const Instr& instr = program_.body[id];
  llvm::Type* element = builder_.memory_type(instr.dtype);
  std::vector<llvm::Value*>& columns = packed_.columns[id];
  columns.clear();
  Address at = packed_address(instr.aux);
  llvm::Value* const start = at.base;
  for (int column = 0; column < packed_.plan->points; ++column) {
    llvm::Value* offset = builder_.index(0);
    int inner = 1;
    for (int d = program_.packed_rank - 1; d >= 0; --d) {
      const int index = column / inner % program_.packed[d];
      llvm::Value* step = stride(instr.aux, program_.packed_row_dim() + 1 + d);
      offset = ir_.CreateAdd(offset, ir_.CreateMul(builder_.index(index), step));
      inner *= program_.packed[d];
    }
    at.base = ir_.CreateGEP(element, start, offset);
    columns.push_back(load(at, instr.dtype, nullptr));
  }
}

llvm::Value* BodyEmitter::interleave(ValueId id) {
  const PackedPlan& plan = *packed_.plan;
  const std::vector<llvm::Value*>& columns = packed_.columns.at(id);
  llvm::Value* result = columns[0];
  for (int column = 0; column < plan.points; ++column) {
    std::vector<int> mask;
    for (int lane = 0; lane < plan.lanes; ++lane) {
      const bool is_here = plan.column_of(packed_.vector, lane) == column;
      mask.push_back(is_here ? plan.lanes + plan.row_of(packed_.vector, lane) : lane);
    }
    result = ir_.CreateShuffleVector(result, columns[column], mask);
  }
  return result;
}

}  // namespace sluice::kernels
