#include "sluice/kernels/llvm/body_emitter.h"

#include <algorithm>
#include <cstddef>

#include "sluice/kernels/kernel.h"
#include "sluice/kernels/llvm/emit_ops.h"
#include "sluice/kernels/llvm/host.h"
#include "sluice/kernels/llvm/host_functions.h"

namespace sluice::kernels {

using fusion::Access;
using fusion::Instr;
using fusion::Level;
using fusion::Op;
using fusion::Schedule;
using fusion::StrideClass;
using fusion::ValueId;
using ir::LaneScope;

namespace {

bool reads_under_predicates(const fusion::Program& program) {
  return std::any_of(program.body.begin(), program.body.end(), [](const Instr& instr) {
    return (instr.op == Op::kLoad && instr.num_operands > 0) || instr.op == Op::kGather;
  });
}

bool is_contractible(Op op) { return op == Op::kAdd || op == Op::kSub || op == Op::kMul; }

}  // namespace

BodyEmitter::BodyEmitter(const fusion::Program& program, llvm::BasicBlock* args_block,
                         llvm::Value* args)
    : program_(program),
      builder_(ir::Builder::current()),
      ir_(*builder_),
      args_block_(args_block),
      args_(args),
      outer_bases_(program.accesses.size()),
      bases_(program.accesses.size()),
      values_(program.body.size()),
      splats_(program.body.size()) {
  llvm::IRBuilder<> at_args(args_block_);
  constexpr int kMaxLanes = 64;
  zeros_ = at_args.CreateAlloca(llvm::ArrayType::get(ir_.getInt64Ty(), kMaxLanes));
  zeros_->setAlignment(llvm::Align(64));
  sink_ = at_args.CreateAlloca(ir_.getInt64Ty());
  if (reads_under_predicates(program)) {
    at_args.CreateMemSet(zeros_, ir_.getInt8(0), 8 * kMaxLanes, llvm::Align(64));
  }
}

llvm::Value* BodyEmitter::argument(size_t field, size_t index, llvm::Type* type) {
  llvm::IRBuilder<> at_args(args_block_);
  constexpr size_t kArray = ~size_t{0};
  llvm::Value*& array = arguments_[{field, kArray}];
  if (array == nullptr) {
    array = at_args.CreateLoad(ir_.getPtrTy(),
                               at_args.CreateConstGEP1_64(ir_.getInt8Ty(), args_, field));
  }
  llvm::Value*& value = arguments_[{field, index}];
  if (value == nullptr) {
    llvm::Value* slot = at_args.CreateConstGEP1_64(ir_.getInt64Ty(), array, index);
    value = at_args.CreateLoad(type, slot);
  }
  return value;
}

llvm::Value* BodyEmitter::extent(int dim) {
  return argument(offsetof(KernelArgs, extents), dim, ir_.getInt64Ty());
}

llvm::Value* BodyEmitter::stride(uint16_t access, int dim) {
  const size_t index = size_t{access} * (program_.rank() + 1) + dim;
  return argument(offsetof(KernelArgs, accesses), index, ir_.getInt64Ty());
}

llvm::Value* BodyEmitter::offset(uint16_t access) { return stride(access, program_.rank()); }

llvm::Value* BodyEmitter::buffer(uint16_t access) {
  return argument(offsetof(KernelArgs, buffers), program_.accesses[access].buffer, ir_.getPtrTy());
}

llvm::Value* BodyEmitter::lane_strides(uint16_t access) {
  llvm::Value*& offsets = lane_strides_[access];
  if (offsets == nullptr) {
    llvm::Value* step = stride(access, program_.lane_dim());
    llvm::IRBuilder<> at_args(args_block_);
    offsets = at_args.CreateMul(builder_.iota(ir_.getInt64Ty()),
                                at_args.CreateVectorSplat(builder_.lanes(), step));
  }
  return offsets;
}

void BodyEmitter::set_outer(const std::vector<llvm::Value*>& outer) {
  for (size_t a = 0; a < program_.accesses.size(); ++a) {
    const Access& access = program_.accesses[a];
    if (!access.varies_along_kept || access.lanes == StrideClass::kTile) continue;
    bases_[a] = access.buffer == fusion::kNoBuffer ? element_at(a, outer) : pointer_at(a, outer);
    outer_bases_[a] = bases_[a];
  }
}

void BodyEmitter::set_row(llvm::Value* index) {
  for (size_t a = 0; a < program_.accesses.size(); ++a) {
    const Access& access = program_.accesses[a];
    if (!access.varies_along_kept) continue;
    llvm::Value* distance = ir_.CreateMul(index, stride(a, program_.kept_rank - 1));
    bases_[a] = access.buffer == fusion::kNoBuffer
                    ? ir_.CreateAdd(outer_bases_[a], distance)
                    : ir_.CreateGEP(builder_.memory_type(access.dtype), outer_bases_[a], distance);
  }
}

llvm::Value* BodyEmitter::element_at(uint16_t access, const std::vector<llvm::Value*>& indices) {
  llvm::Value* element = offset(access);
  for (size_t d = 0; d < indices.size(); ++d) {
    element = ir_.CreateAdd(element, ir_.CreateMul(indices[d], stride(access, d)));
  }
  return element;
}

llvm::Value* BodyEmitter::pointer_at(uint16_t access, const std::vector<llvm::Value*>& indices) {
  return ir_.CreateGEP(builder_.memory_type(program_.accesses[access].dtype), buffer(access),
                       element_at(access, indices));
}

void BodyEmitter::set_reduced(llvm::Value* index) {
  const int rank = program_.reduced_rank;
  reduced_.assign(rank, index);
  if (rank == 1) return;
  const bool lanes_reduced = program_.lanes_reduced();
  const int lanes = lanes_reduced ? builder_.lanes() : 1;
  if (lanes_reduced) {
    index = ir_.CreateAdd(builder_.splat(index, lanes), builder_.iota(ir_.getInt64Ty()));
  }
  llvm::Type* floats = builder_.with_lanes(ir_.getDoubleTy(), lanes);
  for (int d = rank - 1; d > 0; --d) {
    llvm::Value* count = builder_.splat(extent(program_.kept_rank + d), lanes);
    // No vector division exists for integers; for indices below 2^52 the rounded quotient of
    // doubles is never carried to the next integer.
    llvm::Value* quotient = ir_.CreateFPToSI(
        ir_.CreateFDiv(ir_.CreateSIToFP(index, floats), ir_.CreateSIToFP(count, floats)),
        index->getType());
    reduced_[d] = ir_.CreateSub(index, ir_.CreateMul(quotient, count));
    index = quotient;
  }
  reduced_[0] = index;
}

llvm::Value* BodyEmitter::base(uint16_t access) {
  if (program_.accesses[access].varies_along_kept) return bases_[access];
  if (bases_[access] == nullptr) {
    llvm::Value* element = offset(access);
    if (program_.accesses[access].buffer == fusion::kNoBuffer) return element;
    llvm::Value* start = buffer(access);
    llvm::IRBuilder<> at_args(args_block_);
    bases_[access] =
        at_args.CreateGEP(builder_.memory_type(program_.accesses[access].dtype), start, element);
  }
  return bases_[access];
}

BodyEmitter::Address BodyEmitter::address(uint16_t access, Level level) {
  const Access& info = program_.accesses[access];
  const bool along_row = level == Level::kElement && info.varies_along_reduced;
  Address result;
  if (info.lanes == StrideClass::kTile) {
    result.lanes = StrideClass::kUnit;
    result.base = tiles_.at(access);
    result.scalar = lane_start_;
    return result;
  }
  result.base = base(access);
  auto advance = [&](llvm::Value* elements) {
    result.scalar = result.scalar == nullptr ? elements : ir_.CreateAdd(result.scalar, elements);
  };
  auto along_lanes = [&](llvm::Value* start) {
    result.lanes = info.lanes;
    if (info.lanes == StrideClass::kUnit) advance(start);
    if (info.lanes == StrideClass::kAny) {
      advance(ir_.CreateMul(start, stride(access, program_.lane_dim())));
      result.offsets = lane_strides(access);
    }
  };
  if (!program_.lanes_reduced()) {
    if (info.varies_along_kept && info.lanes != StrideClass::kZero) along_lanes(lane_start_);
    if (along_row) {
      for (int d = 0; d < program_.reduced_rank; ++d) {
        advance(ir_.CreateMul(reduced_[d], stride(access, program_.kept_rank + d)));
      }
    }
  } else if (along_row && program_.reduced_rank == 1) {
    along_lanes(reduced_[0]);
  } else if (along_row) {
    result.lanes = StrideClass::kAny;
    for (int d = 0; d < program_.reduced_rank; ++d) {
      llvm::Value* step = builder_.splat(stride(access, program_.kept_rank + d), builder_.lanes());
      llvm::Value* term = ir_.CreateMul(reduced_[d], step);
      result.offsets = d == 0 ? term : ir_.CreateAdd(result.offsets, term);
    }
  }
  return result;
}

llvm::Value* BodyEmitter::scalar_pointer(const Address& address, DType dtype) {
  if (address.scalar == nullptr) return address.base;
  return ir_.CreateGEP(builder_.memory_type(dtype), address.base, address.scalar);
}

llvm::Value* BodyEmitter::lane_indices(const Address& address) {
  switch (address.lanes) {
    case StrideClass::kZero: break;
    case StrideClass::kUnit: return builder_.iota(ir_.getInt64Ty());
    case StrideClass::kAny:
    case StrideClass::kTile: return address.offsets;
  }
  return llvm::ConstantInt::get(builder_.with_lanes(ir_.getInt64Ty()), 0);
}

llvm::Value* BodyEmitter::lane_pointers(const Address& address, DType dtype) {
  return ir_.CreateGEP(builder_.memory_type(dtype), scalar_pointer(address, dtype),
                       lane_indices(address));
}

llvm::Value* BodyEmitter::load(const Address& address, DType dtype, llvm::Value* predicate) {
  llvm::Type* type = builder_.memory_type(dtype);
  if (address.lanes == StrideClass::kZero) {
    llvm::Value* pointer = scalar_pointer(address, dtype);
    const int lanes = builder_.lanes();
    if (predicate != nullptr) {
      llvm::Value* wanted = builder_.any(builder_.both(predicate, lanes == 1 ? nullptr : active_));
      pointer = ir_.CreateSelect(wanted, pointer, zeros_);
    }
    llvm::Value* element;
    {
      LaneScope scalar(1);
      element = decode(dtype, ir_.CreateLoad(type, pointer));
    }
    element = builder_.splat(element, lanes);
    if (predicate == nullptr || lanes == 1) return element;
    return ir_.CreateSelect(predicate, element, llvm::Constant::getNullValue(element->getType()));
  }
  llvm::Value* mask = builder_.both(predicate, active_);
  if (address.lanes == StrideClass::kAny) {
    return decode(dtype, load_lanes(lane_pointers(address, dtype), dtype, mask));
  }
  llvm::Type* vector = builder_.with_lanes(type);
  llvm::Value* pointer = scalar_pointer(address, dtype);
  const llvm::Align align(size_of(dtype));
  if (mask == nullptr) return decode(dtype, ir_.CreateAlignedLoad(vector, pointer, align));
  // A masked load of unmapped memory does not fault, but takes a slow path of hundreds of cycles.
  if (predicate != nullptr) pointer = ir_.CreateSelect(builder_.any(mask), pointer, zeros_);
  return decode(dtype, ir_.CreateMaskedLoad(vector, pointer, align, mask,
                                            llvm::Constant::getNullValue(vector)));
}

llvm::Value* BodyEmitter::load_lanes(llvm::Value* pointers, DType dtype, llvm::Value* mask) {
  llvm::Type* type = builder_.memory_type(dtype);
  llvm::Type* vector = builder_.with_lanes(type);
  const llvm::Align align(size_of(dtype));
  const int lanes = builder_.lanes();
  if (lanes == 1) {
    if (mask != nullptr) pointers = ir_.CreateSelect(mask, pointers, zeros_);
    return ir_.CreateAlignedLoad(type, pointers, align);
  }
  llvm::Constant* zero = llvm::Constant::getNullValue(vector);
  if (size_of(dtype) >= 4 && host().gathers) {
    llvm::Value* all = llvm::Constant::getAllOnesValue(builder_.with_lanes(ir_.getInt1Ty()));
    return ir_.CreateMaskedGather(vector, pointers, align, mask == nullptr ? all : mask, zero);
  }
  if (mask != nullptr) {
    pointers = ir_.CreateSelect(mask, pointers, builder_.splat(zeros_, lanes));
  }
  llvm::Value* result = zero;
  for (int lane = 0; lane < lanes; ++lane) {
    llvm::Value* pointer = ir_.CreateExtractElement(pointers, lane);
    result = ir_.CreateInsertElement(result, ir_.CreateAlignedLoad(type, pointer, align), lane);
  }
  return result;
}

void BodyEmitter::store_lanes(llvm::Value* value, llvm::Value* pointers, DType dtype,
                              llvm::Value* mask) {
  const llvm::Align align(size_of(dtype));
  const int lanes = builder_.lanes();
  if (size_of(dtype) >= 4 && host().masked_vectors) {
    ir_.CreateMaskedScatter(value, pointers, align, mask);
    return;
  }
  if (mask != nullptr) {
    pointers = ir_.CreateSelect(mask, pointers, builder_.splat(sink_, lanes));
  }
  for (int lane = 0; lane < lanes; ++lane) {
    ir_.CreateAlignedStore(ir_.CreateExtractElement(value, lane),
                           ir_.CreateExtractElement(pointers, lane), align);
  }
}

llvm::Value* BodyEmitter::decode(DType dtype, llvm::Value* stored) {
  llvm::Type* floats = builder_.with_lanes(ir_.getFloatTy());
  switch (dtype) {
    case DType::kBool:
      return ir_.CreateICmpNE(stored, llvm::Constant::getNullValue(stored->getType()));
    case DType::kFloat16: {
      llvm::Value* half = ir_.CreateBitCast(stored, builder_.with_lanes(ir_.getHalfTy()));
      return ir_.CreateFPExt(half, floats);
    }
    case DType::kBFloat16: {
      llvm::Value* wide = ir_.CreateZExt(stored, builder_.with_lanes(ir_.getInt32Ty()));
      return ir_.CreateBitCast(ir_.CreateShl(wide, 16), floats);
    }
    default: return stored;
  }
}

llvm::Value* BodyEmitter::encode(DType dtype, llvm::Value* value) {
  if (dtype == DType::kBool) {
    return ir_.CreateZExt(value, builder_.with_lanes(ir_.getInt8Ty()));
  }
  if (!is_float(dtype)) return value;
  value = ir::emit_canonical_nan(dtype, value);
  llvm::Type* halves = builder_.with_lanes(ir_.getInt16Ty());
  if (dtype == DType::kFloat16) {
    llvm::Type* type = builder_.with_lanes(ir_.getHalfTy());
    return ir_.CreateBitCast(ir_.CreateFPTrunc(value, type), halves);
  }
  if (dtype == DType::kBFloat16) {
    llvm::Value* bits = ir_.CreateBitCast(value, builder_.with_lanes(ir_.getInt32Ty()));
    return ir_.CreateTrunc(ir_.CreateLShr(bits, 16), halves);
  }
  return value;
}

llvm::Value* BodyEmitter::round(DType dtype, llvm::Value* value) {
  if (dtype == DType::kBFloat16) return ir::emit_round_to_bfloat16(value);
  if (dtype != DType::kFloat16) return value;
  llvm::Type* type = builder_.with_lanes(ir_.getHalfTy());
  llvm::Value* half = ir_.CreateFPTrunc(ir::emit_canonical_nan(dtype, value), type);
  return ir_.CreateFPExt(half, value->getType());
}

llvm::Value* BodyEmitter::value(ValueId id) {
  llvm::Value* value = values_[id];
  const int lanes = builder_.lanes();
  if (lanes == 1 || value->getType()->isVectorTy()) return value;
  if (splats_[id].first == value) return splats_[id].second;
  return builder_.splat(value, lanes);
}

void BodyEmitter::splat_operands(const std::vector<ValueId>& instrs,
                                 const std::vector<fusion::Store>& stores) {
  auto prepare = [&](ValueId id) {
    llvm::Value* scalar = values_[id];
    if (scalar == nullptr || builder_.lanes() == 1 || scalar->getType()->isVectorTy()) return;
    splats_[id] = {scalar, builder_.splat(scalar, builder_.lanes())};
  };
  for (const ValueId id : instrs) {
    const Instr& instr = program_.body[id];
    for (int k = 0; k < instr.num_operands; ++k) prepare(instr.operands[k]);
  }
  for (const fusion::Store& store : stores) prepare(store.value);
}

llvm::Value* BodyEmitter::emit_scalar(const Instr& instr) {
  llvm::Type* type = builder_.memory_type(instr.dtype);
  return decode(instr.dtype, argument(offsetof(KernelArgs, scalars), instr.aux, type));
}

int BodyEmitter::index_operand(const Instr& comparison) const {
  const Instr& first = program_.body[comparison.operands[0]];
  const bool varies =
      first.op == Op::kCoordinate && program_.accesses[first.aux].lanes != StrideClass::kZero;
  return varies ? 0 : 1;
}

llvm::Value* BodyEmitter::compare_index(ValueId comparison, llvm::Value* lane_index) {
  const Instr& instr = program_.body[comparison];
  LaneScope scalar(1);
  const int k = index_operand(instr);
  const uint16_t access = program_.body[instr.operands[k]].aux;
  llvm::Value* operands[2];
  operands[k] = ir_.CreateAdd(base(access), ir_.CreateMul(lane_index, lane_stride(access)));
  operands[1 - k] = values_[instr.operands[1 - k]];
  return ir::emit_pointwise(instr.op, DType::kInt64, operands);
}

llvm::Value* BodyEmitter::comparison_change(ValueId comparison) {
  const Instr& instr = program_.body[comparison];
  const int k = index_operand(instr);
  const uint16_t access = program_.body[instr.operands[k]].aux;
  llvm::Value* zero = builder_.index(0);
  llvm::Value* one = builder_.index(1);
  // base + step * i < bound changes where i >= (bound - base) / step; base + step * i <= bound
  // where i is more; the other way round where the step is negative.
  llvm::Value* step = lane_stride(access);
  llvm::Value* descends = ir_.CreateICmpSLT(step, zero);
  auto ascending = [&](llvm::Value* value) {
    return ir_.CreateSelect(descends, ir_.CreateNeg(value), value);
  };
  llvm::Value* distance = ascending(ir_.CreateSub(values_[instr.operands[1 - k]], base(access)));
  llvm::Value* is_more = ir_.getInt1((instr.op == Op::kLessEqual) == (k == 0));
  llvm::Value* below = ir_.CreateSub(distance, one);
  llvm::Value* last_before = ir_.CreateSelect(ir_.CreateICmpNE(is_more, descends), distance, below);
  // Doubles divide faster, and for less than 2^52 the quotient is never carried to the next.
  llvm::Type* real = ir_.getDoubleTy();
  llvm::Value* quotient =
      ir_.CreateFDiv(ir_.CreateSIToFP(last_before, real), ir_.CreateSIToFP(ascending(step), real));
  llvm::Value* none =
      ir_.CreateOr(ir_.CreateICmpSLT(last_before, zero), ir_.CreateICmpEQ(step, zero));
  // Not of a quotient by 0, which has no integer.
  quotient = ir_.CreateSelect(none, llvm::ConstantFP::get(real, -1), quotient);
  return ir_.CreateAdd(ir_.CreateFPToSI(quotient, ir_.getInt64Ty()), one);
}

llvm::Value* BodyEmitter::emit_load(const Instr& instr) {
  if (instr.num_operands > 0) {
    const auto* known = llvm::dyn_cast<llvm::ConstantInt>(values_[instr.operands[0]]);
    if (known != nullptr && known->isOne()) {
      return load(address(instr.aux, instr.level), instr.dtype, nullptr);
    }
  }
  if (instr.num_operands > 0 && builder_.lanes() > 1 &&
      program_.accesses[instr.aux].lanes == StrideClass::kUnit &&
      !values_[instr.operands[0]]->getType()->isVectorTy()) {
    // All lanes read, or none.
    Address at = address(instr.aux, instr.level);
    at.base = ir_.CreateSelect(values_[instr.operands[0]], scalar_pointer(at, instr.dtype), zeros_);
    at.scalar = nullptr;
    return load(at, instr.dtype, nullptr);
  }
  llvm::Value* predicate = instr.num_operands > 0 ? value(instr.operands[0]) : nullptr;
  return load(address(instr.aux, instr.level), instr.dtype, predicate);
}

llvm::Value* BodyEmitter::emit_gather(const Instr& instr) {
  const Address start = address(instr.aux, instr.level);
  llvm::Value* predicate = instr.num_operands > 1 ? value(instr.operands[1]) : nullptr;
  llvm::Value* pointers =
      ir_.CreateGEP(builder_.memory_type(instr.dtype), lane_pointers(start, instr.dtype),
                    value(instr.operands[0]));
  llvm::Value* mask = builder_.lanes() == 1 ? predicate : builder_.both(predicate, active_);
  return decode(instr.dtype, load_lanes(pointers, instr.dtype, mask));
}

llvm::Value* BodyEmitter::emit_check_index(const Instr& instr) {
  llvm::Value* index = value(instr.operands[0]);
  llvm::Value* extent = value(instr.operands[1]);
  llvm::Value* zero = llvm::Constant::getNullValue(index->getType());
  llvm::Value* wrapped =
      ir_.CreateSelect(ir_.CreateICmpSLT(index, zero), ir_.CreateAdd(index, extent), index);
  llvm::Value* outside = ir_.CreateICmpUGE(wrapped, extent);
  llvm::Value* wrong = outside;
  if (instr.num_operands > 2) wrong = ir_.CreateAnd(wrong, value(instr.operands[2]));
  const int lanes = builder_.lanes();
  if (lanes > 1) wrong = builder_.both(wrong, active_);
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
    auto* callee = llvm::FunctionType::get(ir_.getVoidTy(), {ir_.getPtrTy(), word, word, word},
                                           /*isVarArg=*/false);
    llvm::Value* slots = ir_.CreateLoad(
        ir_.getPtrTy(),
        ir_.CreateConstGEP1_64(ir_.getInt8Ty(), args_, offsetof(KernelArgs, errors)));
    ir_.CreateCall(builder_.host_function(kRaiseErrorName, callee),
                   {slots, builder_.index(instr.aux), bad_index, bad_extent});
  });
  return ir_.CreateSelect(outside, zero, wrapped);
}

void BodyEmitter::emit(ValueId id) {
  const Instr& instr = program_.body[id];
  switch (instr.op) {
    case Op::kScalar: values_[id] = emit_scalar(instr); return;
    case Op::kParam:
      values_[id] = argument(offsetof(KernelArgs, params), instr.aux, ir_.getInt64Ty());
      return;
    case Op::kLoad: values_[id] = emit_load(instr); return;
    case Op::kGather: values_[id] = emit_gather(instr); return;
    case Op::kCheckIndex: values_[id] = emit_check_index(instr); return;
    case Op::kCoordinate: {
      const Address at = address(instr.aux, instr.level);
      llvm::Value* first = at.scalar == nullptr ? at.base : ir_.CreateAdd(at.base, at.scalar);
      values_[id] = ir_.CreateAdd(builder_.splat(first, builder_.lanes()), lane_indices(at));
      return;
    }
    default: break;
  }
  const ir::ContractionScope contraction(program_.contracts && is_contractible(instr.op));
  llvm::Value* operands[3] = {};
  for (int k = 0; k < instr.num_operands; ++k) operands[k] = value(instr.operands[k]);
  const bool is_select = op_info(instr.op).rule == fusion::TypeRule::kSelect;
  const DType operand = fusion::operand_dtype(program_, instr, is_select ? 1 : 0);
  llvm::Value* result = instr.op == Op::kCast
                            ? ir::emit_cast(operand, instr.dtype, operands[0])
                            : ir::emit_pointwise(instr.op, compute_type(operand), operands);
  values_[id] = round(instr.dtype, result);
}

void BodyEmitter::emit_store(const fusion::Store& store) {
  const Access& access = program_.accesses[store.access];
  const Address at =
      address(store.access, access.varies_along_reduced ? Level::kElement : Level::kRow);
  llvm::Value* encoded = encode(access.dtype, value(store.value));
  const llvm::Align align(size_of(access.dtype));
  if (builder_.lanes() == 1) {
    ir_.CreateAlignedStore(encoded, scalar_pointer(at, access.dtype), align);
  } else if (at.lanes != StrideClass::kUnit) {
    store_lanes(encoded, lane_pointers(at, access.dtype), access.dtype, active_);
  } else if (active_ == nullptr) {
    const bool streams = program_.streams &&
                         (access.varies_along_reduced || program_.reduced_rank == 0) &&
                         builder_.lanes() * size_of(access.dtype) % fusion::kStreamAlignment == 0;
    llvm::StoreInst* written =
        ir_.CreateAlignedStore(encoded, scalar_pointer(at, access.dtype),
                               streams ? llvm::Align(fusion::kStreamAlignment) : align);
    if (streams) {
      written->setMetadata(
          llvm::LLVMContext::MD_nontemporal,
          llvm::MDNode::get(ir_.getContext(), llvm::ConstantAsMetadata::get(ir_.getInt32(1))));
    }
  } else {
    ir_.CreateMaskedStore(encoded, scalar_pointer(at, access.dtype), align, active_);
  }
}

}  // namespace sluice::kernels
