// Gathers, and the indices they read at.
#include <optional>

#include "kernels/compiled/symbols.h"
#include "kernels/executable.h"
#include "kernels/llvm/body/body_emitter.h"
#include "kernels/llvm/host.h"

namespace sluice::kernels {

using fusion::Instr;
using fusion::Op;
using fusion::StrideClass;
using fusion::ValueId;

llvm::Value* BodyEmitter::emit_gather(ValueId id) {
  const Instr& instr = program_.body[id];
  if (packed_.vector >= 0 && builder_.lanes() > 1 && variation_[instr.operands[0]].in_row &&
      (packed_.plan->by_row || (packed_.windows && packed_.plan->windows[id]))) {
    return load_rolled(id);
  }
  const Address start = address(instr.aux, instr.level);
  const ValueId predicate = instr.operands[1];
  llvm::Value* index = values_[instr.operands[0]];
  if (const std::optional<Address> at = packed_run(instr)) {
    return emit_read(*at, instr.dtype, fusion::kNoValue);
  }
  if (packed_.vector >= 0 && builder_.lanes() > 1 && packed_.plan->whole_rows[id]) {
    return load_rows(id);
  }
  auto read_at = [&](llvm::Value* distance) {
    Address at = start;
    at.scalar = at.scalar == nullptr ? distance : ir_.CreateAdd(at.scalar, distance);
    return emit_read(at, instr.dtype, predicate);
  };
  if (builder_.lanes() > 1 && !index->getType()->isVectorTy()) return read_at(index);
  // Distances that conditions select are mostly the same for all lanes.
  const Op op = program_.body[instr.operands[0]].op;
  const bool mostly_same = builder_.lanes() > 1 && start.lanes == StrideClass::kUnit &&
                           (op == Op::kWhere || op == Op::kAdd);
  auto gather = [&] {
    llvm::Value* mask = predicate == fusion::kNoValue ? nullptr : value(predicate);
    if (builder_.lanes() > 1) mask = builder_.both(mask, active_);
    llvm::Value* pointers =
        ir_.CreateGEP(builder_.memory_type(instr.dtype), lane_pointers(start, instr.dtype), index);
    return decode(instr.dtype, load_lanes(pointers, instr.dtype, mask, mostly_same));
  };
  if (!mostly_same) {
    if (!has_lane_offsets(instr.aux, start)) return gather();
    const std::optional<StoredIndex> stored = stored_index(instr);
    if (!stored) return gather();
    llvm::Value* differs = ir_.CreateICmpNE(stored->checked, stored->index);
    return builder_.choose(builder_.any(differs), gather,
                           [&] { return gather_by_stored(instr, start, *stored); });
  }
  llvm::Value* first = ir_.CreateExtractElement(index, uint64_t{0});
  llvm::Value* differs = ir_.CreateICmpNE(index, builder_.splat(first, builder_.lanes()));
  return builder_.choose(builder_.any(differs), gather, [&] { return read_at(first); });
}

std::optional<BodyEmitter::StoredIndex> BodyEmitter::stored_index(const Instr& gather) {
  if (builder_.lanes() == 1 || active_ != nullptr || gather.operands[1] != fusion::kNoValue) {
    return std::nullopt;
  }
  StoredIndex result;
  ValueId id = gather.operands[0];
  if (program_.body[id].op == Op::kMul) {
    const auto [a, b, unused] = program_.body[id].operands;
    const bool is_second = program_.body[a].op == Op::kCheckIndex;
    result.scale = values_[is_second ? b : a];
    if (result.scale->getType()->isVectorTy()) return std::nullopt;
    id = is_second ? a : b;
  }
  if (program_.body[id].op != Op::kCheckIndex) return std::nullopt;
  result.checked = values_[id];
  id = program_.body[id].operands[0];
  result.index = values_[id];
  if (program_.body[id].op == Op::kCast) id = program_.body[id].operands[0];
  const Instr& load = program_.body[id];
  const bool is_plain =
      load.op == Op::kLoad && load.num_operands == 0 && kind_of(load.dtype) == DTypeKind::kSigned;
  if (!is_plain || reads_.contains(load.aux) || interleaved_of_.contains(load.aux)) {
    return std::nullopt;
  }
  const Address at = address(load.aux, load.level);
  if (at.lanes != StrideClass::kUnit) return std::nullopt;
  result.pointer = scalar_pointer(at, load.dtype);
  result.dtype = load.dtype;
  return result;
}

bool BodyEmitter::has_lane_offsets(uint16_t access, const Address& start) const {
  if (start.lanes == StrideClass::kZero || start.lanes == StrideClass::kUnit) return true;
  return packed_.vector >= 0 && !program_.accesses[access].varies_in_row;
}

llvm::Value* BodyEmitter::lane_offset(uint16_t access, const Address& start, int lane) {
  if (start.lanes == StrideClass::kZero) return builder_.index(0);
  if (start.lanes == StrideClass::kUnit) return builder_.index(lane);
  llvm::Value* row = builder_.index(packed_.plan->row_of(packed_.vector, lane));
  return ir_.CreateMul(row, stride(access, program_.packed_row_dim()));
}

llvm::Value* BodyEmitter::gather_by_stored(const Instr& gather, const Address& start,
                                           const StoredIndex& stored) {
  llvm::Type* element = builder_.memory_type(gather.dtype);
  llvm::Type* integer = builder_.memory_type(stored.dtype);
  const llvm::Align align(size_of(gather.dtype)), align_of_index(size_of(stored.dtype));
  llvm::Value* base = scalar_pointer(start, gather.dtype);
  llvm::Value* result = llvm::PoisonValue::get(builder_.with_lanes(element));
  for (int lane = 0; lane < builder_.lanes(); ++lane) {
    llvm::Value* place = ir_.CreateConstGEP1_64(integer, stored.pointer, lane);
    llvm::Value* index =
        ir_.CreateSExt(ir_.CreateAlignedLoad(integer, place, align_of_index), ir_.getInt64Ty());
    if (stored.scale != nullptr) index = ir_.CreateMul(index, stored.scale);
    llvm::Value* pointer = ir_.CreateGEP(element, base, lane_offset(gather.aux, start, lane));
    pointer = ir_.CreateGEP(element, pointer, index);
    result = ir_.CreateInsertElement(result, ir_.CreateAlignedLoad(element, pointer, align), lane);
  }
  return decode(gather.dtype, result);
}

llvm::Value* BodyEmitter::emit_check_index(const Instr& instr) {
  llvm::Value* index = value(instr.operands[0]);
  llvm::Value* extent = value(instr.operands[1]);
  // What signs single indices have no processor foresees.
  if (builder_.lanes() == 1) return wrap_and_check(instr, index, extent);
  // Of a vector mostly none is below zero, either, of which this comparison tells as well.
  llvm::Value* differs = builder_.any(ir_.CreateICmpUGE(index, extent));
  return builder_.choose(
      differs, [&] { return wrap_and_check(instr, index, extent); }, [&] { return index; });
}

llvm::Value* BodyEmitter::wrap_and_check(const Instr& instr, llvm::Value* index,
                                         llvm::Value* extent) {
  llvm::Value* zero = llvm::Constant::getNullValue(index->getType());
  llvm::Value* wrapped =
      ir_.CreateSelect(ir_.CreateICmpSLT(index, zero), ir_.CreateAdd(index, extent), index);
  llvm::Value* outside = ir_.CreateICmpUGE(wrapped, extent);
  llvm::Value* wrong = outside;
  if (instr.num_operands > 2) wrong = ir_.CreateAnd(wrong, value(instr.operands[2]));
  const int lanes = builder_.lanes();
  if (lanes > 1) wrong = builder_.both(wrong, active_);
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* after_error = nullptr;
  builder_.if_then(builder_.any(wrong), /*likely=*/false, [&] {
    llvm::Value* bad_index = index;
    llvm::Value* bad_extent = extent;
    if (lanes > 1) {
      llvm::Type* bits = ir_.getIntNTy(lanes);
      llvm::Value* lane = ir_.CreateIntrinsic(llvm::Intrinsic::cttz, {bits},
                                              {ir_.CreateBitCast(wrong, bits), ir_.getInt1(true)});
      bad_index = ir_.CreateExtractElement(index, lane);
      bad_extent = ir_.CreateExtractElement(extent, lane);
    }
    llvm::Type* word = ir_.getInt64Ty();
    auto* type = llvm::FunctionType::get(ir_.getVoidTy(), {ir_.getPtrTy(), word, word, word},
                                         /*isVarArg=*/false);
    llvm::Value* slots = ir_.CreateLoad(
        ir_.getPtrTy(),
        ir_.CreateConstGEP1_64(ir_.getInt8Ty(), args_, offsetof(KernelArgs, errors)));
    builder_.call_rarely(kRaiseErrorName, type,
                         {slots, builder_.index(instr.aux), bad_index, bad_extent});
    after_error = ir_.GetInsertBlock();
  });
  if (lanes == 1 && instr.num_operands == 2) {
    llvm::PHINode* checked = ir_.CreatePHI(index->getType(), 2);
    checked->addIncoming(wrapped, before);
    checked->addIncoming(zero, after_error);
    return checked;
  }
  return ir_.CreateSelect(outside, zero, wrapped);
}

}  // namespace sluice::kernels
