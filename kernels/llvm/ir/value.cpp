#include "kernels/llvm/ir/value.h"

#include <bit>

#include "kernels/compiled/symbols.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/ir/avx512_lanes.h"
#include "kernels/llvm/ir/builder.h"
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

#else
llvm::Value* scale(DType, llvm::Value*, llvm::Value*) { return nullptr; }
llvm::Value* canonical_nan(DType, llvm::Value*) { return nullptr; }
#endif

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
