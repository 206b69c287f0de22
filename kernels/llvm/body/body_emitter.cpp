#include "kernels/llvm/body/body_emitter.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "kernels/compiled/symbols.h"
#include "kernels/executable.h"
#include "kernels/llvm/body/halves.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/ir/ops.h"
#include "kernels/llvm/rows/row_plan.h"

namespace sluice::kernels {

using fusion::Access;
using fusion::Instr;
using fusion::Level;
using fusion::Op;
using fusion::StrideClass;
using fusion::ValueId;
using ir::LaneScope;

namespace {

bool reads_under_predicates(const fusion::Program& program) {
  return std::any_of(program.body.begin(), program.body.end(), [](const Instr& instr) {
    return (instr.op == Op::kLoad && instr.num_operands > 0) || instr.op == Op::kGather;
  });
}

// Those that are read by steps.
std::vector<uint16_t> read_by_steps(const fusion::Program& program) {
  std::vector<uint16_t> accesses;
  for (const Instr& instr : program.body) {
    if (instr.op != Op::kLoad || program.accesses[instr.aux].lanes != StrideClass::kAny) continue;
    accesses.push_back(instr.aux);
  }
  std::sort(accesses.begin(), accesses.end());
  accesses.erase(std::unique(accesses.begin(), accesses.end()), accesses.end());
  return accesses;
}

// Each load by steps is emitted twice, and ends the block in which interleaved ones share vectors.
bool decides_flips_by_load(const fusion::Program& program) {
  constexpr size_t kMost = 4;
  return program.interleaved.empty() && read_by_steps(program).size() <= kMost;
}

// By value: whether a selection chooses it, or not.
std::vector<bool> selected_values(const fusion::Program& program) {
  std::vector<bool> selected(program.body.size(), false);
  for (const Instr& instr : program.body) {
    if (instr.op == Op::kWhere) selected[instr.operands[1]] = selected[instr.operands[2]] = true;
  }
  return selected;
}

bool is_contractible(Op op) { return op == Op::kAdd || op == Op::kSub || op == Op::kMul; }

// Of halves these give halves, so that there is nothing to round.
bool keeps_halves(Op op) {
  switch (op) {
    case Op::kNeg:
    case Op::kAbs:
    case Op::kSign:
    case Op::kRelu:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kReluGradient:
    case Op::kWhere: return true;
    default: return false;
  }
}

// True for a checked index times a stride, both of which are nearly always less than 2^32.
bool is_distance(const fusion::Program& program, const Instr& instr) {
  if (instr.op != Op::kMul || program.body[instr.operands[0]].op != Op::kCheckIndex) return false;
  const auto is_uniform = [&](ValueId id) { return program.body[id].level == Level::kUniform; };
  return is_uniform(instr.operands[1]) && is_uniform(program.body[instr.operands[0]].operands[1]);
}

// Vectors of AVX2 have products of the lower halves of 64-bit integers, of which LLVM makes three
// for a whole one.
llvm::Value* emit_distance(llvm::Value* index, llvm::Value* extent, llvm::Value* stride) {
  constexpr int64_t kLowHalf = 0xffffffff;
  ir::Builder& builder = ir::Builder::current();
  const int lanes = builder.lanes();
  return builder.choose(
      builder->CreateICmpULE(builder->CreateOr(extent, stride), builder.index(kLowHalf)),
      [&] {
        llvm::Value* low = builder.splat(builder.index(kLowHalf), lanes);
        return builder->CreateMul(builder->CreateAnd(index, low),
                                  builder->CreateAnd(builder.splat(stride, lanes), low));
      },
      [&] { return builder->CreateMul(index, builder.splat(stride, lanes)); });
}

}  // namespace

BodyEmitter::BodyEmitter(const fusion::Program& program, llvm::BasicBlock* args_block,
                         llvm::Value* args)
    : program_(program),
      moves_halves_(moves_halves(program)),
      flips_(decides_flips_by_load(program) ? Flips::kByLoad : Flips::kNone),
      builder_(ir::Builder::current()),
      ir_(*builder_),
      args_block_(args_block),
      args_(args),
      selected_(selected_values(program)),
      outer_bases_(program.accesses.size()),
      bases_(program.accesses.size()),
      values_(program.body.size()),
      splats_(program.body.size()) {
  if (program.packed_rank > 0) variation_ = fusion::find_variation(program);
  llvm::IRBuilder<> at_args(args_block_);
  constexpr int kMaxLanes = 64;
  zeros_ = at_args.CreateAlloca(llvm::ArrayType::get(ir_.getInt64Ty(), kMaxLanes));
  zeros_->setAlignment(llvm::Align(64));
  sink_ = at_args.CreateAlloca(ir_.getInt64Ty());
  for (const std::vector<uint16_t>& accesses : program.interleaved) {
    for (const uint16_t access : accesses) {
      if (access != fusion::kNoAccess) interleaved_of_[access] = interleaved_.size();
    }
    interleaved_.push_back({&accesses, {}, {}});
  }
  if (reads_under_predicates(program)) {
    at_args.CreateMemSet(zeros_, ir_.getInt8(0), 8 * kMaxLanes, llvm::Align(64));
  }
}

llvm::Value* BodyEmitter::are_flipped() {
  constexpr size_t kMostInstrs = 64;
  if (flips_ == Flips::kByLoad || !program_.interleaved.empty()) return nullptr;
  if (program_.body.size() > kMostInstrs) return nullptr;
  llvm::Value* are_flipped = ir_.getTrue();
  for (const uint16_t access : read_by_steps(program_)) {
    llvm::Value* is_flipped = ir_.CreateICmpEQ(lane_stride(access), builder_.index(-1));
    are_flipped = ir_.CreateAnd(are_flipped, is_flipped);
  }
  return are_flipped;
}

llvm::Value* BodyEmitter::round(DType dtype, llvm::Value* value) {
  if (moves_halves_) return value;
  if (dtype == DType::kBFloat16) return ir::emit_round_to_bfloat16(value);
  if (dtype != DType::kFloat16) return value;
  llvm::Type* type = builder_.with_lanes(ir_.getHalfTy());
  return ir_.CreateFPExt(ir_.CreateFPTrunc(value, type), value->getType());
}

llvm::Value* BodyEmitter::narrowed(llvm::Value* value) {
  llvm::Type* type = value->getType()->getWithNewType(ir_.getHalfTy());
  auto* widened = llvm::dyn_cast<llvm::FPExtInst>(value);
  return widened != nullptr && widened->getSrcTy() == type ? widened->getOperand(0)
                                                           : ir_.CreateFPTrunc(value, type);
}

llvm::Value* BodyEmitter::widened(llvm::Value* half) {
  return ir_.CreateFPExt(half, half->getType()->getWithNewType(ir_.getFloatTy()));
}

llvm::Value* BodyEmitter::splat(llvm::Value* value) {
  // Halves stay halves.
  auto* widens = llvm::dyn_cast<llvm::FPExtInst>(value);
  if (widens == nullptr || !widens->getSrcTy()->isHalfTy()) {
    return builder_.splat(value, builder_.lanes());
  }
  return widened(builder_.splat(widens->getOperand(0), builder_.lanes()));
}

llvm::Value* BodyEmitter::value(ValueId id) {
  llvm::Value* value = values_[id];
  const int lanes = builder_.lanes();
  if (lanes == 1 || value->getType()->isVectorTy()) return value;
  const auto& [scalar, copies] = splats_[id];
  if (scalar == value && copies->getType() == builder_.with_lanes(value->getType())) {
    return copies;
  }
  return splat(value);
}

void BodyEmitter::splat_operands(const std::vector<ValueId>& instrs,
                                 const std::vector<fusion::Store>& stores) {
  auto prepare = [&](ValueId id) {
    if (program_.body[id].level == Level::kElement) return;  // yet to be computed
    llvm::Value* scalar = values_[id];
    if (scalar == nullptr || builder_.lanes() == 1 || scalar->getType()->isVectorTy()) return;
    splats_[id] = {scalar, splat(scalar)};
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

BodyEmitter::IndexComparison BodyEmitter::index_comparison(ValueId comparison) {
  const Instr& instr = program_.body[comparison];
  const std::optional<LaneIndex> first = lane_index(program_, instr.operands[0]);
  const LaneIndex index = first ? *first : *lane_index(program_, instr.operands[1]);
  const int k = first ? 0 : 1;
  llvm::Value* start = base(index.access);
  if (index.distance != fusion::kNoValue) start = ir_.CreateAdd(start, values_[index.distance]);
  return {k, start, index.access, values_[instr.operands[1 - k]]};
}

llvm::Value* BodyEmitter::first_index(ValueId id) {
  const Instr& instr = program_.body[id];
  if (instr.op == Op::kCoordinate) {
    const Address at = address(instr.aux, instr.level);
    if (at.lanes != StrideClass::kUnit) return nullptr;
    return at.scalar == nullptr ? at.base : ir_.CreateAdd(at.base, at.scalar);
  }
  if (instr.op != Op::kAdd && instr.op != Op::kSub) return nullptr;
  for (int k = 0; k < (instr.op == Op::kAdd ? 2 : 1); ++k) {
    llvm::Value* distance = values_[instr.operands[1 - k]];
    if (distance == nullptr || distance->getType()->isVectorTy()) continue;
    llvm::Value* first = first_index(instr.operands[k]);
    if (first == nullptr) continue;
    return instr.op == Op::kAdd ? ir_.CreateAdd(first, distance) : ir_.CreateSub(first, distance);
  }
  return nullptr;
}

llvm::Value* BodyEmitter::emit_index_comparison(const Instr& instr) {
  if (builder_.lanes() == 1 || packed_.plan != nullptr ||
      program_.body[instr.operands[0]].dtype != DType::kInt64) {
    return nullptr;
  }
  llvm::Type* word = ir_.getInt32Ty();
  for (int k = 0; k < 2; ++k) {
    llvm::Value* bound = values_[instr.operands[1 - k]];
    if (bound == nullptr || bound->getType()->isVectorTy()) continue;
    llvm::Value* first = first_index(instr.operands[k]);
    if (first == nullptr) continue;
    // The lane whose index is the bound, which may be any integer; one beside the lanes if none is.
    llvm::Value* lanes = builder_.index(builder_.lanes());
    llvm::Value* at = builder_.max(bound, ir_.CreateSub(first, builder_.index(1)));
    at = ir_.CreateSub(builder_.min(at, ir_.CreateAdd(first, lanes)), first);
    auto compared = [&](llvm::CmpInst::Predicate predicate) {
      return ir_.CreateICmp(predicate, builder_.iota(word),
                            builder_.splat(ir_.CreateTrunc(at, word), builder_.lanes()));
    };
    using Compare = llvm::CmpInst;
    switch (instr.op) {
      case Op::kEqual: return compared(Compare::ICMP_EQ);
      case Op::kNotEqual: return compared(Compare::ICMP_NE);
      case Op::kLess: return compared(k == 0 ? Compare::ICMP_SLT : Compare::ICMP_SGT);
      default: return compared(k == 0 ? Compare::ICMP_SLE : Compare::ICMP_SGE);
    }
  }
  return nullptr;
}

llvm::Value* BodyEmitter::compare_index(ValueId comparison, llvm::Value* lane_index) {
  LaneScope scalar(1);
  const IndexComparison parts = index_comparison(comparison);
  llvm::Value* operands[2];
  operands[parts.operand] =
      ir_.CreateAdd(parts.start, ir_.CreateMul(lane_index, lane_stride(parts.access)));
  operands[1 - parts.operand] = parts.bound;
  return ir::emit_pointwise(program_.body[comparison].op, DType::kInt64, operands);
}

llvm::Value* BodyEmitter::comparison_change(ValueId comparison) {
  LaneScope scalar(1);
  const IndexComparison parts = index_comparison(comparison);
  llvm::Value* zero = builder_.index(0);
  llvm::Value* one = builder_.index(1);
  // start + step * i < bound changes where i >= (bound - start) / step; start + step * i <= bound
  // where i is more; the other way round where the step is negative.
  const bool is_more = (program_.body[comparison].op == Op::kLessEqual) == (parts.operand == 0);
  llvm::Value* distance = ir_.CreateSub(parts.bound, parts.start);
  if (program_.accesses[parts.access].lanes == StrideClass::kUnit) {
    return builder_.max(is_more ? ir_.CreateAdd(distance, one) : distance, zero);
  }
  llvm::Value* step = lane_stride(parts.access);
  llvm::Value* descends = ir_.CreateICmpSLT(step, zero);
  auto ascending = [&](llvm::Value* value) {
    return ir_.CreateSelect(descends, ir_.CreateNeg(value), value);
  };
  distance = ascending(distance);
  llvm::Value* below = ir_.CreateSub(distance, one);
  llvm::Value* last_before =
      ir_.CreateSelect(ir_.CreateICmpNE(ir_.getInt1(is_more), descends), distance, below);
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

llvm::Value* BodyEmitter::emit_read(Address at, DType dtype, ValueId predicate) {
  if (predicate == fusion::kNoValue) return load(at, dtype, nullptr);
  llvm::Value* holds = values_[predicate];
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(holds);
  if (known != nullptr && known->isOne()) return load(at, dtype, nullptr);
  if (builder_.lanes() > 1 && at.lanes == StrideClass::kUnit && !holds->getType()->isVectorTy()) {
    // All lanes read, or none.
    at.base = ir_.CreateSelect(holds, scalar_pointer(at, dtype), zeros_);
    at.scalar = nullptr;
    return load(at, dtype, nullptr);
  }
  return load(at, dtype, value(predicate));
}

llvm::Value* BodyEmitter::emit_load(ValueId id) {
  const Instr& instr = program_.body[id];
  if (const auto read = reads_.find(instr.aux); read != reads_.end() && read->second != nullptr) {
    return decode(instr.dtype, read->second);
  }
  if (packed_.vector >= 0) {
    if (packed_.plan->interleaved[id]) return interleave(id);
    const Access& access = program_.accesses[instr.aux];
    if (packed_.plan->by_row && builder_.lanes() > 1 && access.varies_in_row &&
        fusion::is_picked_in_row(program_, access)) {
      return load_picked(id);
    }
    const bool is_guarded = instr.num_operands > 0;
    llvm::Value* read = nullptr;
    if (packed_.plan->windows[id] && packed_.windows) {
      read = packed_.plan->by_row ? load_whole(packed_address(instr.aux), instr.dtype)
                                  : load_window(instr, nullptr, /*wanted=*/nullptr);
    } else if (packed_.plan->windows[id] && !packed_.plan->by_row && host().masked_vectors) {
      // At the ends of a run.
      llvm::Type* lanes = builder_.with_lanes(ir_.getInt1Ty());
      llvm::Value* wanted = builder_.both(is_guarded ? value(instr.operands[0]) : nullptr, active_);
      if (wanted == nullptr) wanted = llvm::Constant::getAllOnesValue(lanes);
      read = load_window(instr, nullptr, wanted);
    }
    if (read != nullptr) {
      if (is_guarded) read = apart(read, instr.dtype);
      if (!is_guarded || packed_.plan->chosen[id]) return read;
      llvm::Value* zero = llvm::Constant::getNullValue(read->getType());
      return ir_.CreateSelect(value(instr.operands[0]), read, zero);
    }
  }
  if (Interleaved* group = interleaved(instr.aux)) return load_interleaved(group, instr);
  llvm::Value* read = emit_read(address(instr.aux, instr.level), instr.dtype, instr.operands[0]);
  return selected_[id] && builder_.lanes() > 1 ? apart(read, instr.dtype) : read;
}

// LLVM would make a selection part of the load, which then has a mask: such loads from beyond the
// caches take up to three times as long.
llvm::Value* BodyEmitter::apart(llvm::Value* read, DType dtype) {
  if (!host().masks_slow_streams || size_of(dtype) < 4) return read;
  return ir_.CreateFreeze(read);
}

llvm::Value* BodyEmitter::emit_native_half(const Instr& instr) {
  llvm::Value* operands[3] = {};
  for (int k = 0; k < instr.num_operands; ++k) {
    const ValueId id = instr.operands[k];
    operands[k] = value(id);
    if (program_.body[id].dtype == DType::kFloat16) operands[k] = narrowed(operands[k]);
  }
  llvm::Value* result = ir::emit_pointwise(instr.op, DType::kFloat16, operands);
  return instr.dtype == DType::kFloat16 ? widened(result) : result;
}

void BodyEmitter::emit(ValueId id) {
  const Instr& instr = program_.body[id];
  switch (instr.op) {
    case Op::kScalar: values_[id] = emit_scalar(instr); return;
    case Op::kParam:
      values_[id] = argument(offsetof(KernelArgs, params), instr.aux, ir_.getInt64Ty());
      return;
    case Op::kLoad: values_[id] = emit_load(id); return;
    case Op::kGather: values_[id] = emit_gather(id); return;
    case Op::kCheckIndex: values_[id] = emit_check_index(instr); return;
    case Op::kExpand: values_[id] = value(instr.operands[0]); return;
    case Op::kCoordinate: {
      const Address at = address(instr.aux, instr.level);
      llvm::Value* first = at.scalar == nullptr ? at.base : ir_.CreateAdd(at.base, at.scalar);
      values_[id] = ir_.CreateAdd(builder_.splat(first, builder_.lanes()), lane_indices(at));
      return;
    }
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kLess:
    case Op::kLessEqual:
      if (llvm::Value* outcome = emit_index_comparison(instr)) {
        values_[id] = outcome;
        return;
      }
      break;
    case Op::kMul:
      // What has AVX-512's conversions of such integers has their products.
      if (builder_.lanes() == 1 || host().converts_int64 || !is_distance(program_, instr)) break;
      values_[id] = emit_distance(value(instr.operands[0]),
                                  values_[program_.body[instr.operands[0]].operands[1]],
                                  values_[instr.operands[1]]);
      return;
    default: break;
  }
  if (moves_halves_ && is_half(instr.dtype) && is_of_sign(instr.op)) {
    constexpr uint64_t kSign = 0x8000;
    llvm::Value* bits = value(instr.operands[0]);
    values_[id] =
        instr.op == Op::kNeg ? ir_.CreateXor(bits, kSign) : ir_.CreateAnd(bits, kSign - 1);
    return;
  }
  if (!moves_halves_ && is_native_half(program_, instr)) {
    values_[id] = emit_native_half(instr);
    return;
  }
  const ir::ContractionScope contraction(program_.contracts && is_contractible(instr.op));
  llvm::Value* operands[3] = {};
  for (int k = 0; k < instr.num_operands; ++k) operands[k] = value(instr.operands[k]);
  const DType dtype = fusion::expression_dtype(program_, instr);
  llvm::Value* result = nullptr;
  if (instr.op == Op::kCast) {
    result = ir::emit_cast(dtype, compute_type(instr.dtype), operands[0]);
  } else {
    if (instr.dtype == DType::kFloat16) result = ir::emit_float16_form(instr.op, operands[0]);
    if (result == nullptr) result = ir::emit_pointwise(instr.op, dtype, operands);
  }
  values_[id] = keeps_halves(instr.op) ? result : round(instr.dtype, result);
}

void BodyEmitter::emit_store(const fusion::Store& store) { emit_store(store, value(store.value)); }

void BodyEmitter::emit_store(const fusion::Store& store, llvm::Value* stored) {
  const Access& access = program_.accesses[store.access];
  const Address at =
      address(store.access, access.varies_along_reduced ? Level::kElement : Level::kRow);
  llvm::Value* encoded = encode(access.dtype, stored);
  if (Interleaved* group = interleaved(store.access)) {
    return store_interleaved(group, store, encoded);
  }
  const llvm::Align align(size_of(access.dtype));
  if (builder_.lanes() == 1) {
    ir_.CreateAlignedStore(encoded, scalar_pointer(at, access.dtype), align);
  } else if (at.lanes != StrideClass::kUnit) {
    store_lanes(encoded, lane_pointers(at, access.dtype), access.dtype, active_);
  } else if (active_ == nullptr) {
    // Rows that are stored by themselves begin anywhere.
    const bool is_by_row = packed_.plan != nullptr && packed_.plan->by_row;
    const bool nontemporal =
        program_.nontemporal && !is_by_row && (!program_.runs_cut_lines || host().masked_vectors) &&
        (access.varies_along_reduced || program_.reduced_rank == 0) &&
        builder_.lanes() * size_of(access.dtype) % fusion::kNontemporalAlignment == 0;
    llvm::StoreInst* written =
        ir_.CreateAlignedStore(encoded, scalar_pointer(at, access.dtype),
                               nontemporal ? llvm::Align(fusion::kNontemporalAlignment) : align);
    if (nontemporal) {
      written->setMetadata(
          llvm::LLVMContext::MD_nontemporal,
          llvm::MDNode::get(ir_.getContext(), llvm::ConstantAsMetadata::get(ir_.getInt32(1))));
    }
  } else if (active_count_ != nullptr && !host().masked_vectors) {
    store_first(encoded, scalar_pointer(at, access.dtype), access.dtype);
  } else {
    ir_.CreateMaskedStore(encoded, scalar_pointer(at, access.dtype), align, active_);
  }
}

}  // namespace sluice::kernels
