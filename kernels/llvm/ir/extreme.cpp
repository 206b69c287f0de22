// The greater and the lesser of two floats, with NaN and signed zeros as Sluice defines them.
#include <bit>
#include <vector>

#include "kernels/llvm/ir/avx512_lanes.h"
#include "kernels/llvm/ir/builder.h"
#include "kernels/llvm/ir/value.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace sluice::kernels::ir::raw {
namespace {

#if defined(__x86_64__)
// or_and() by an instruction that LLVM does not find by itself; null if there is none.
llvm::Value* ternary_or_and(llvm::Value* a, llvm::Value* b, llvm::Constant* mask) {
  using namespace llvm::Intrinsic;  // NOLINT
  constexpr ID kTernary[] = {x86_avx512_pternlog_d_128, x86_avx512_pternlog_d_256,
                             x86_avx512_pternlog_d_512};
  constexpr int kTable = 0xd4;
  llvm::IRBuilder<>& ir = *Builder::current();
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
  llvm::IRBuilder<>& ir = *Builder::current();
  llvm::Constant* rest = llvm::ConstantExpr::getNot(mask);
  return ir.CreateOr(ir.CreateAnd(a, ir.CreateOr(b, rest)), ir.CreateAnd(b, rest));
}

// Of a vector and of copies of one number: one comparison, which takes `a` where they are
// equal or either is NaN, and what puts right copies of a zero or NaN: a sum for the greatest, bits
// that are set for the least. That is the same for all vectors, so computed where the copies are.
llvm::Value* extreme_with_copies(bool greatest, llvm::Value* a, llvm::Value* copies) {
  using P = llvm::CmpInst::Predicate;
  Builder& ir = Builder::current();
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
  llvm::IRBuilder<>& ir = *Builder::current();
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

}  // namespace sluice::kernels::ir::raw
