#include "kernels/llvm/ir/value.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/compiled/symbols.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/ir/builder.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace sluice::kernels::ir {
namespace {

Builder& builder() { return Builder::current(); }

bool is_signed(DType dtype) { return kind_of(dtype) == DTypeKind::kSigned; }

}  // namespace

namespace raw {

llvm::Value* constant(DType dtype, uint64_t bits) {
  Builder& b = builder();
  llvm::Type* type = b.scalar_type(dtype);
  const unsigned width = dtype == DType::kBool ? 1 : 8 * size_of(dtype);
  const llvm::APInt pattern(width, bits);
  llvm::Constant* value = nullptr;
  if (is_float(dtype)) {
    llvm::APFloat number(
        dtype == DType::kFloat32 ? llvm::APFloat::IEEEsingle() : llvm::APFloat::IEEEdouble(),
        pattern);
    bool inexact = false;
    number.convert(type->getFltSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    value = llvm::ConstantFP::get(b->getContext(), number);
  } else {
    value = llvm::ConstantInt::get(b->getContext(), pattern);
  }
  if (b.lanes() == 1) return value;
  return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(b.lanes()), value);
}

llvm::Value* unary(Unary op, llvm::Value* a) {
  static constexpr llvm::Intrinsic::ID kIntrinsics[] = {
      llvm::Intrinsic::sqrt,  llvm::Intrinsic::floor, llvm::Intrinsic::ceil,
      llvm::Intrinsic::trunc, llvm::Intrinsic::rint,  llvm::Intrinsic::fabs};
  return builder()->CreateUnaryIntrinsic(kIntrinsics[static_cast<int>(op)], a);
}

llvm::Value* binary(Binary op, DType dtype, llvm::Value* a, llvm::Value* b) {
  llvm::IRBuilder<>& ir = *builder();
  const bool floating = is_float(dtype);
  const bool boolean = dtype == DType::kBool;
  switch (op) {
    case Binary::kAdd:
      return floating ? ir.CreateFAdd(a, b) : boolean ? ir.CreateOr(a, b) : ir.CreateAdd(a, b);
    case Binary::kSub: return floating ? ir.CreateFSub(a, b) : ir.CreateSub(a, b);
    case Binary::kMul:
      return floating ? ir.CreateFMul(a, b) : boolean ? ir.CreateAnd(a, b) : ir.CreateMul(a, b);
    case Binary::kDiv:
      if (floating) return ir.CreateFDiv(a, b);
      return is_signed(dtype) ? ir.CreateSDiv(a, b) : ir.CreateUDiv(a, b);
    case Binary::kAnd: return ir.CreateAnd(a, b);
    case Binary::kOr: return ir.CreateOr(a, b);
    case Binary::kXor: return ir.CreateXor(a, b);
    case Binary::kShl: return ir.CreateShl(a, b);
    case Binary::kShr: break;
  }
  return is_signed(dtype) ? ir.CreateAShr(a, b) : ir.CreateLShr(a, b);
}

namespace {

// Whether halves are in order, by the sign of their difference, which vanishes for equal ones only:
// if it is in [-inf, -2^-24]. LLVM (19, 20) exchanges the operands of AVX-512's masked comparison
// of halves without its predicate, where that lets it read one from memory; comparisons of equality
// are the same either way.
llvm::Value* less_half(llvm::Value* a, llvm::Value* b) {
  llvm::IRBuilder<>& ir = *builder();
  llvm::Value* difference = ir.CreateFSub(a, b);
  llvm::Type* words = a->getType()->getWithNewType(ir.getInt16Ty());
  llvm::Value* from_least =
      ir.CreateAdd(ir.CreateBitCast(difference, words), llvm::ConstantInt::get(words, 0x7fff));
  return ir.CreateICmpULT(from_least, llvm::ConstantInt::get(words, 0x7c00));
}

}  // namespace

llvm::Value* compare(Compare op, DType dtype, llvm::Value* a, llvm::Value* b) {
  using P = llvm::CmpInst::Predicate;
  static constexpr P kFloat[] = {P::FCMP_OLT, P::FCMP_OLE, P::FCMP_OEQ, P::FCMP_UNE};
  static constexpr P kSigned[] = {P::ICMP_SLT, P::ICMP_SLE, P::ICMP_EQ, P::ICMP_NE};
  static constexpr P kUnsigned[] = {P::ICMP_ULT, P::ICMP_ULE, P::ICMP_EQ, P::ICMP_NE};
  const int i = static_cast<int>(op);
  if (is_float(dtype) && a->getType()->getScalarType()->isHalfTy()) {
    if (op == Compare::kLt) return less_half(a, b);
    if (op == Compare::kLe) {
      return builder()->CreateOr(less_half(a, b), builder()->CreateFCmpOEQ(a, b));
    }
  }
  if (is_float(dtype)) return builder()->CreateFCmp(kFloat[i], a, b);
  return builder()->CreateICmp(is_signed(dtype) ? kSigned[i] : kUnsigned[i], a, b);
}

llvm::Value* fma(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  return builder()->CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

llvm::Value* logical_not(llvm::Value* a) { return builder()->CreateNot(a); }

llvm::Value* select(llvm::Value* mask, llvm::Value* a, llvm::Value* b) {
  return builder()->CreateSelect(mask, a, b);
}

llvm::Value* bits_as(DType to, llvm::Value* a) {
  Builder& b = builder();
  return b->CreateBitCast(a, b.with_lanes(b.scalar_type(to)));
}

namespace {

#if defined(__x86_64__)
constexpr int kCurrentRounding = 4;

// The current lanes as whole vectors of AVX-512, for instructions that LLVM has no name for.
struct Avx512Lanes {
  explicit Avx512Lanes(DType dtype) : all_lanes(builder().lanes()) {
    const int size = static_cast<int>(size_of(dtype));
    if (!host().masked_vectors || all_lanes * size < 16) return;
    bytes = std::min(all_lanes * size, host().vector_bytes);
    lanes = bytes / size;
    all = llvm::ConstantInt::getAllOnesValue(builder()->getIntNTy(std::max(lanes, 8)));
  }

  // `instruction(parts)` of each vector of the operands.
  template <typename F>
  llvm::Value* each(const std::vector<llvm::Value*>& operands, const F& instruction) const {
    Builder& ir = builder();
    std::vector<llvm::Value*> results;
    for (int first = 0; first < all_lanes; first += lanes) {
      std::vector<int> places(lanes);
      std::iota(places.begin(), places.end(), first);
      std::vector<llvm::Value*> parts;
      for (llvm::Value* x : operands) {
        parts.push_back(lanes == all_lanes ? x : ir->CreateShuffleVector(x, places));
      }
      results.push_back(instruction(parts));
    }
    return llvm::concatenateVectors(*ir, results);
  }

  const int all_lanes;
  int lanes = 0;  // of one vector; 0 where there are none
  int bytes = 0;
  llvm::Value* all = nullptr;  // the mask
};

// or_and() by an instruction that LLVM does not find by itself; null if there is none.
llvm::Value* ternary_or_and(llvm::Value* a, llvm::Value* b, llvm::Constant* mask) {
  using namespace llvm::Intrinsic;  // NOLINT
  constexpr ID kTernary[] = {x86_avx512_pternlog_d_128, x86_avx512_pternlog_d_256,
                             x86_avx512_pternlog_d_512};
  constexpr int kTable = 0xd4;
  llvm::IRBuilder<>& ir = *builder();
  constexpr int kWord = 32, kVector = 128;
  const auto bits = static_cast<int>(a->getType()->getPrimitiveSizeInBits().getFixedValue());
  if (bits < kVector || !std::has_single_bit(static_cast<unsigned>(bits))) return nullptr;
  const LaneScope in_words(bits / kWord);
  const Avx512Lanes by(DType::kInt32);
  if (by.lanes == 0) return nullptr;
  llvm::Type* words = llvm::FixedVectorType::get(ir.getInt32Ty(), bits / kWord);
  llvm::Value* result = by.each(
      {ir.CreateBitCast(a, words), ir.CreateBitCast(b, words), ir.CreateBitCast(mask, words)},
      [&](const std::vector<llvm::Value*>& in) {
        return ir.CreateIntrinsic(kTernary[by.bytes / 32], {},
                                  {in[0], in[1], in[2], ir.getInt32(kTable)});
      });
  return ir.CreateBitCast(result, a->getType());
}
#else
llvm::Value* ternary_or_and(llvm::Value*, llvm::Value*, llvm::Constant*) { return nullptr; }
#endif

// By bit, `a | b` where `mask` is 0 and `a & b` where it is 1.
llvm::Value* or_and(llvm::Value* a, llvm::Value* b, llvm::Constant* mask) {
  if (llvm::Value* const result = ternary_or_and(a, b, mask)) return result;
  llvm::IRBuilder<>& ir = *builder();
  llvm::Constant* rest = llvm::ConstantExpr::getNot(mask);
  return ir.CreateOr(ir.CreateAnd(a, ir.CreateOr(b, rest)), ir.CreateAnd(b, rest));
}

// Of a vector and of copies of one number: one comparison, which takes `a` where they are
// equal or either is NaN, and what puts right copies of a zero or NaN: a sum for the greatest, bits
// that are set for the least. That is the same for all vectors, so computed where the copies are.
llvm::Value* extreme_with_copies(bool greatest, llvm::Value* a, llvm::Value* copies) {
  using P = llvm::CmpInst::Predicate;
  Builder& ir = builder();
  llvm::IRBuilder<> at_copies(ir->GetInsertBlock());
  if (auto* made = llvm::dyn_cast<llvm::Instruction>(copies)) {
    llvm::Instruction* next = made->getNextNode();  // null in a block that is being written
    next != nullptr ? at_copies.SetInsertPoint(next) : at_copies.SetInsertPoint(made->getParent());
  }
  llvm::Type* floats = copies->getType();
  llvm::Type* words = floats->getWithNewType(ir->getIntNTy(floats->getScalarSizeInBits()));
  llvm::Constant* zero = llvm::Constant::getNullValue(floats);
  llvm::Constant* minus_zero = llvm::ConstantFP::getNegativeZero(floats);
  llvm::Constant* special = greatest ? zero : minus_zero;
  llvm::Constant* neutral = greatest ? minus_zero : zero;
  llvm::Value* is_special = at_copies.CreateICmpEQ(at_copies.CreateBitCast(copies, words),
                                                   at_copies.CreateBitCast(special, words));
  llvm::Value* correction = at_copies.CreateSelect(is_special, special, neutral);
  correction = at_copies.CreateSelect(at_copies.CreateFCmpUNO(copies, copies), copies, correction);
  llvm::Value* result =
      ir->CreateSelect(ir->CreateFCmp(greatest ? P::FCMP_OGT : P::FCMP_OLT, copies, a), copies, a);
  if (greatest) return ir->CreateFAdd(result, correction);
  result = ir->CreateOr(ir->CreateBitCast(result, words), ir->CreateBitCast(correction, words));
  return ir->CreateBitCast(result, floats);
}

// Of two comparisons that choose the other operand if either is NaN, or if both are equal, one
// gives the NaN; of zeros they give both.
llvm::Value* extreme(bool greatest, llvm::Value* a, llvm::Value* b) {
  using P = llvm::CmpInst::Predicate;
  llvm::IRBuilder<>& ir = *builder();
  if (a->getType()->isVectorTy()) {
    if (llvm::getSplatValue(b) != nullptr) return extreme_with_copies(greatest, a, b);
    if (llvm::getSplatValue(a) != nullptr) return extreme_with_copies(greatest, b, a);
  }
  const P first = greatest ? P::FCMP_OGT : P::FCMP_OLT;
  const P second = greatest ? P::FCMP_OLT : P::FCMP_OGT;
  llvm::Value* one = ir.CreateSelect(ir.CreateFCmp(first, a, b), a, b);
  llvm::Value* other = ir.CreateSelect(ir.CreateFCmp(second, a, b), b, a);
  const unsigned width = a->getType()->getScalarSizeInBits();
  llvm::Type* words = a->getType()->getWithNewType(ir.getIntNTy(width));
  one = ir.CreateBitCast(one, words);
  other = ir.CreateBitCast(other, words);
  llvm::Constant* sign = llvm::ConstantInt::get(words, llvm::APInt::getSignMask(width));
  llvm::Value* bits = greatest ? or_and(one, other, sign) : ir.CreateOr(one, other);
  return ir.CreateBitCast(bits, a->getType());
}

}  // namespace

llvm::Value* maximum(llvm::Value* a, llvm::Value* b) { return extreme(true, a, b); }
llvm::Value* minimum(llvm::Value* a, llvm::Value* b) { return extreme(false, a, b); }

namespace {

// Of float64s in range. LLVM would take them one by one.
llvm::Value* to_int64(llvm::Value* a) {
  constexpr double kTwoTo32 = 0x1p32, kShift = 0x1.8p52;
  constexpr uint64_t kLowHalf = 0xffffffff;
  Builder& ir = builder();
  llvm::Type* words = ir.with_lanes(ir->getInt64Ty());
  const auto number = [&](double value) {
    return constant(DType::kFloat64, std::bit_cast<uint64_t>(value));
  };
  // Halves that are exact, as is their sum with the shift, whose last 32 bits they are.
  llvm::Value* whole = unary(Unary::kTrunc, a);
  llvm::Value* high = unary(Unary::kFloor, ir->CreateFMul(whole, number(1 / kTwoTo32)));
  llvm::Value* low = fma(high, number(-kTwoTo32), whole);
  const auto bits = [&](llvm::Value* half) {
    return ir->CreateBitCast(ir->CreateFAdd(half, number(kShift)), words);
  };
  return ir->CreateOr(ir->CreateShl(bits(high), 32),
                      ir->CreateAnd(bits(low), constant(DType::kInt64, kLowHalf)));
}

}  // namespace

llvm::Value* convert(DType from, DType to, llvm::Value* a) {
  if (from == to) return a;
  Builder& b = builder();
  llvm::Type* type = b.with_lanes(b.scalar_type(to));
  if (to == DType::kBool) return compare(Compare::kNe, from, a, constant(from, 0));
  if (is_float(from) && is_float(to)) {
    return to == DType::kFloat64 ? b->CreateFPExt(a, type) : b->CreateFPTrunc(a, type);
  }
  if (is_float(from)) {
    if (size_of(to) == sizeof(int64_t) && b.lanes() > 1 && !host().converts_int64) {
      return to_int64(convert(from, DType::kFloat64, a));
    }
    return is_signed(to) ? b->CreateFPToSI(a, type) : b->CreateFPToUI(a, type);
  }
  if (is_float(to)) {
    return is_signed(from) ? b->CreateSIToFP(a, type) : b->CreateUIToFP(a, type);
  }
  return b->CreateIntCast(a, type, is_signed(from));
}

llvm::Value* call_external(math::External f, DType dtype, llvm::Value* a, llvm::Value* b) {
  Builder& ir = builder();
  llvm::Type* type = ir.with_lanes(ir.scalar_type(dtype));
  llvm::Type* pointer = ir->getPtrTy();
  auto spilled = [&](llvm::Value* value) -> llvm::Value* {
    if (value == nullptr) return llvm::ConstantPointerNull::get(ir->getPtrTy());
    llvm::AllocaInst* slot = ir.stack(type);
    ir->CreateStore(value, slot);
    return slot;
  };
  llvm::Value* first = spilled(a);
  llvm::Value* second = spilled(b);
  llvm::AllocaInst* out = ir.stack(type);
  auto* callee = llvm::FunctionType::get(
      ir->getVoidTy(), {ir->getInt32Ty(), pointer, pointer, pointer, ir->getInt64Ty()},
      /*isVarArg=*/false);
  ir->CreateCall(
      ir.host_function(kExternalArrayName, callee),
      {ir->getInt32(static_cast<uint32_t>(f)), first, second, out, ir->getInt64(ir.lanes())});
  return ir->CreateLoad(type, out);
}

llvm::Value* if_all(llvm::Value* mask, const std::function<llvm::Value*()>& usual,
                    const std::function<llvm::Value*()>& full) {
  Builder& ir = builder();
  return ir.choose(ir.any(ir->CreateNot(mask)), full, usual);
}

#if defined(__x86_64__)
llvm::Value* scale(DType dtype, llvm::Value* a, llvm::Value* n) {
  using namespace llvm::Intrinsic;  // NOLINT
  Builder& ir = builder();
  const Avx512Lanes by(dtype);
  if (by.lanes == 0) return nullptr;
  constexpr ID kSingle[] = {x86_avx512_mask_scalef_ps_128, x86_avx512_mask_scalef_ps_256,
                            x86_avx512_mask_scalef_ps_512};
  constexpr ID kDouble[] = {x86_avx512_mask_scalef_pd_128, x86_avx512_mask_scalef_pd_256,
                            x86_avx512_mask_scalef_pd_512};
  return by.each({a, n}, [&](const std::vector<llvm::Value*>& in) {
    std::vector<llvm::Value*> arguments = {in[0], in[1], in[0], by.all};
    if (by.bytes == 64) arguments.push_back(ir->getInt32(kCurrentRounding));
    return ir->CreateIntrinsic((dtype == DType::kFloat32 ? kSingle : kDouble)[by.bytes / 32], {},
                               arguments);
  });
}

llvm::Value* canonical_nan(DType dtype, llvm::Value* a) {
  using namespace llvm::Intrinsic;  // NOLINT
  Builder& ir = builder();
  const Avx512Lanes by(dtype);
  if (by.lanes == 0) return nullptr;
  const bool is_f32 = dtype == DType::kFloat32;
  constexpr ID kSingle[] = {x86_avx512_mask_fixupimm_ps_128, x86_avx512_mask_fixupimm_ps_256,
                            x86_avx512_mask_fixupimm_ps_512};
  constexpr ID kDouble[] = {x86_avx512_mask_fixupimm_pd_128, x86_avx512_mask_fixupimm_pd_256,
                            x86_avx512_mask_fixupimm_pd_512};
  // By class, four bits each: NaNs are the first two, and are what is in the register already.
  constexpr uint32_t kTable = 0x11111100;
  const LaneScope narrow(by.lanes);
  llvm::Value* table = constant(is_f32 ? DType::kInt32 : DType::kInt64, kTable);
  llvm::Value* nan = llvm::ConstantFP::getNaN(ir.with_lanes(ir.scalar_type(dtype)));
  return by.each({a}, [&](const std::vector<llvm::Value*>& in) {
    std::vector<llvm::Value*> arguments = {nan, in[0], table, ir->getInt32(0), by.all};
    if (by.bytes == 64) arguments.push_back(ir->getInt32(kCurrentRounding));
    return ir->CreateIntrinsic((is_f32 ? kSingle : kDouble)[by.bytes / 32], {}, arguments);
  });
}

// An entry of lookup() by a permutation of two registers; null if there is none.
llvm::Value* permuted(llvm::Constant* table, llvm::Value* index) {
  const Avx512Lanes by(DType::kFloat64);
  if (by.bytes != 64) return nullptr;
  Builder& ir = builder();
  const auto half = [&](uint64_t first) {
    std::vector<llvm::Constant*> entries;
    for (uint64_t i = first; i < first + 8; ++i) {
      entries.push_back(table->getAggregateElement(static_cast<unsigned>(i)));
    }
    return llvm::ConstantVector::get(entries);
  };
  return by.each({index}, [&](const std::vector<llvm::Value*>& in) {
    return ir->CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_pd_512, {},
                               {half(0), in[0], half(8)});
  });
}
#else
llvm::Value* permuted(llvm::Constant*, llvm::Value*) { return nullptr; }
llvm::Value* scale(DType, llvm::Value*, llvm::Value*) { return nullptr; }
llvm::Value* canonical_nan(DType, llvm::Value*) { return nullptr; }
#endif

namespace {

// What the tables have at one index lies side by side; each pair in 16 aligned bytes.
llvm::GlobalVariable* in_memory(std::span<const math::Sixteen<double>> tables, size_t row_length) {
  Builder& ir = builder();
  std::vector<double> rows(tables[0].size() * row_length);
  for (size_t k = 0; k < tables.size(); ++k) {
    for (size_t i = 0; i < tables[k].size(); ++i) rows[i * row_length + k] = tables[k][i];
  }
  llvm::Constant* entries = llvm::ConstantDataArray::get(ir->getContext(), rows);
  llvm::Module& module = *ir->GetInsertBlock()->getModule();
  for (llvm::GlobalVariable& known : module.globals()) {
    if (known.hasInitializer() && known.getInitializer() == entries) return &known;
  }
  auto* made = new llvm::GlobalVariable(module, entries->getType(), /*isConstant=*/true,
                                        llvm::GlobalValue::PrivateLinkage, entries);
  made->setAlignment(llvm::Align(64));
  return made;
}

// By loads of pairs, of each lane, that are then transposed: gathers take three times as long.
std::vector<llvm::Value*> loaded(std::span<const math::Sixteen<double>> tables,
                                 llvm::Value* index) {
  Builder& ir = builder();
  const int lanes = ir.lanes();
  const size_t row_length = std::bit_ceil(tables.size());
  llvm::GlobalVariable* rows = in_memory(tables, row_length);
  llvm::Value* places =
      ir->CreateShl(ir->CreateAnd(index, constant(DType::kInt64, tables[0].size() - 1)),
                    constant(DType::kInt64, static_cast<uint64_t>(std::countr_zero(row_length))));
  std::vector<llvm::Value*> starts;
  for (int lane = 0; lane < lanes; ++lane) {
    llvm::Value* place = lanes == 1 ? places : ir->CreateExtractElement(places, lane);
    starts.push_back(ir->CreateGEP(ir->getDoubleTy(), rows, place));
  }
  std::vector<llvm::Value*> entries;
  if (lanes == 1) {
    for (size_t k = 0; k < tables.size(); ++k) {
      llvm::Value* entry = ir->CreateConstGEP1_64(ir->getDoubleTy(), starts[0], k);
      entries.push_back(ir->CreateLoad(ir->getDoubleTy(), entry));
    }
    return entries;
  }
  llvm::Type* pair = llvm::FixedVectorType::get(ir->getDoubleTy(), 2);
  for (size_t k = 0; k < tables.size(); k += 2) {
    std::vector<llvm::Value*> of_lanes[2];  // even ones, odd ones
    for (int lane = 0; lane < lanes; ++lane) {
      llvm::Value* from = ir->CreateConstGEP1_64(ir->getDoubleTy(), starts[lane], k);
      of_lanes[lane % 2].push_back(ir->CreateLoad(pair, from));
    }
    llvm::Value* even = llvm::concatenateVectors(*ir, of_lanes[0]);
    llvm::Value* odd = llvm::concatenateVectors(*ir, of_lanes[1]);
    for (int part = 0; part < 2 && k + part < tables.size(); ++part) {
      std::vector<int> places_of_part;
      for (int lane = 0; lane < lanes; lane += 2) {
        places_of_part.push_back(lane + part);
        places_of_part.push_back(lane + part + lanes);
      }
      entries.push_back(ir->CreateShuffleVector(even, odd, places_of_part));
    }
  }
  return entries;
}

}  // namespace

std::vector<llvm::Value*> lookup(std::span<const math::Sixteen<double>> tables,
                                 llvm::Value* index) {
  std::vector<llvm::Value*> entries;
  for (const math::Sixteen<double>& table : tables) {
    llvm::Constant* constants = llvm::ConstantDataArray::get(builder()->getContext(), table);
    llvm::Value* entry = permuted(constants, index);
    if (entry == nullptr) return loaded(tables, index);
    entries.push_back(entry);
  }
  return entries;
}

llvm::Value* unless(llvm::Value* rare, math::External f, DType dtype, llvm::Value* a,
                    llvm::Value* b, llvm::Value* usual) {
  Builder& ir = builder();
  llvm::BasicBlock* before = ir->GetInsertBlock();
  llvm::Value* called = nullptr;
  llvm::BasicBlock* after_call = nullptr;
  ir.if_then(ir.any(rare), /*likely=*/false, [&] {
    called = ir->CreateSelect(rare, call_external(f, dtype, a, b), usual);
    after_call = ir->GetInsertBlock();
  });
  llvm::PHINode* result = ir->CreatePHI(usual->getType(), 2);
  result->addIncoming(usual, before);
  result->addIncoming(called, after_call);
  return result;
}

}  // namespace raw
}  // namespace sluice::kernels::ir
