#include "kernels/llvm/ir/builder.h"

#include <vector>

#include "kernels/llvm/host.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

namespace sluice::kernels::ir {
namespace {

thread_local Builder* current_builder = nullptr;

}  // namespace

Builder::Builder(llvm::LLVMContext& context) : builder_(context), outer_(current_builder) {
  current_builder = this;
}

Builder::~Builder() { current_builder = outer_; }

Builder& Builder::current() { return *current_builder; }

llvm::Type* Builder::scalar_type(DType dtype) {
  if (dtype == DType::kBool) return builder_.getInt1Ty();
  if (dtype == DType::kFloat16 || (halves_ && dtype == DType::kFloat32))
    return builder_.getHalfTy();
  if (dtype == DType::kFloat32) return builder_.getFloatTy();
  if (dtype == DType::kFloat64) return builder_.getDoubleTy();
  return builder_.getIntNTy(8 * size_of(dtype));
}

llvm::Type* Builder::memory_type(DType dtype) {
  if (dtype == DType::kFloat32) return builder_.getFloatTy();
  if (dtype == DType::kFloat64) return builder_.getDoubleTy();
  return builder_.getIntNTy(8 * size_of(dtype));
}

llvm::Type* Builder::with_lanes(llvm::Type* type, int lanes) {
  return lanes == 1 ? type : llvm::FixedVectorType::get(type, lanes);
}

llvm::FunctionCallee Builder::host_function(const char* name, llvm::FunctionType* type) {
  return builder_.GetInsertBlock()->getModule()->getOrInsertFunction(name, type);
}

void Builder::call_rarely(const char* name, llvm::FunctionType* type, const Values& arguments) {
  llvm::Module& module = *builder_.GetInsertBlock()->getModule();
  const std::string own_name = std::string(name) + "_rarely";
  llvm::Function* function = module.getFunction(own_name);
  if (function == nullptr) {
    function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, own_name, module);
    function->setCallingConv(llvm::CallingConv::PreserveMost);
    for (const auto attribute :
         {llvm::Attribute::NoInline, llvm::Attribute::Cold, llvm::Attribute::NoUnwind}) {
      function->addFnAttr(attribute);
    }
    llvm::IRBuilder<> body(llvm::BasicBlock::Create(module.getContext(), "", function));
    Values passed;
    for (llvm::Argument& argument : function->args()) passed.push_back(&argument);
    body.CreateCall(module.getOrInsertFunction(name, type), passed);
    body.CreateRetVoid();
  }
  builder_.CreateCall(function, arguments)->setCallingConv(llvm::CallingConv::PreserveMost);
}

llvm::Value* Builder::min(llvm::Value* a, llvm::Value* b) {
  return builder_.CreateSelect(builder_.CreateICmpSLT(a, b), a, b);
}

llvm::Value* Builder::ceil_div(llvm::Value* a, llvm::Value* b) {
  return builder_.CreateUDiv(builder_.CreateAdd(a, builder_.CreateSub(b, index(1))), b);
}

llvm::Value* Builder::max(llvm::Value* a, llvm::Value* b) {
  return builder_.CreateSelect(builder_.CreateICmpSLT(a, b), b, a);
}

llvm::Value* Builder::to_memory(llvm::Value* value) {
  llvm::Type* type = value->getType();
  if (type->getScalarType()->isHalfTy()) {
    return builder_.CreateBitCast(value, with_lanes(builder_.getInt16Ty()));
  }
  if (!type->isIntOrIntVectorTy(1)) return value;
  return builder_.CreateZExt(value, type->getWithNewBitWidth(8));
}

llvm::Value* Builder::from_memory(DType dtype, llvm::Value* stored) {
  if (dtype == DType::kFloat16) {
    return builder_.CreateBitCast(stored, with_lanes(builder_.getHalfTy()));
  }
  if (dtype != DType::kBool) return stored;
  return builder_.CreateICmpNE(stored, llvm::Constant::getNullValue(stored->getType()));
}

llvm::Value* Builder::splat(llvm::Value* scalar, int lanes) {
  return lanes == 1 ? scalar : builder_.CreateVectorSplat(lanes, scalar);
}

llvm::Value* Builder::iota(llvm::Type* integer_type) {
  if (lanes_ == 1) return llvm::ConstantInt::get(integer_type, 0);
  std::vector<llvm::Constant*> values;
  for (int i = 0; i < lanes_; ++i) values.push_back(llvm::ConstantInt::get(integer_type, i));
  return llvm::ConstantVector::get(values);
}

llvm::Value* Builder::both(llvm::Value* mask_a, llvm::Value* mask_b) {
  if (mask_a == nullptr) return mask_b;
  if (mask_b == nullptr) return mask_a;
  return builder_.CreateAnd(mask_a, mask_b);
}

bool Builder::has_mask_words() const { return host().masked_vectors && lanes_ >= 8; }

llvm::Value* Builder::lanes_below(llvm::Value* count) {
  llvm::Type* word = builder_.getInt64Ty();
  if (has_mask_words()) {
    // Shifted by the number of lanes that are missing from 64: never by 64.
    llvm::Value* ones = llvm::Constant::getAllOnesValue(word);
    llvm::Value* bits = builder_.CreateLShr(ones, builder_.CreateSub(index(64), count));
    return builder_.CreateBitCast(builder_.CreateTrunc(bits, builder_.getIntNTy(lanes_)),
                                  with_lanes(builder_.getInt1Ty()));
  }
  llvm::Type* narrow = builder_.getInt32Ty();
  return builder_.CreateICmpULT(iota(narrow), splat(builder_.CreateTrunc(count, narrow), lanes_));
}

llvm::Value* Builder::lanes_from(llvm::Value* count) {
  return builder_.CreateNot(lanes_below(count));
}

llvm::Value* Builder::last_lanes(llvm::Value* count) {
  if (!has_mask_words()) return builder_.CreateVectorReverse(lanes_below(count));
  llvm::Value* ones = llvm::Constant::getAllOnesValue(builder_.getInt64Ty());
  llvm::Value* bits = builder_.CreateShl(ones, builder_.CreateSub(index(64), count));
  if (lanes_ < 64) bits = builder_.CreateLShr(bits, 64 - lanes_);
  return builder_.CreateBitCast(builder_.CreateTrunc(bits, builder_.getIntNTy(lanes_)),
                                with_lanes(builder_.getInt1Ty()));
}

llvm::Value* Builder::any(llvm::Value* mask) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(mask->getType());
  if (vector == nullptr) return mask;
  llvm::Type* bits = builder_.getIntNTy(vector->getNumElements());
  return builder_.CreateICmpNE(builder_.CreateBitCast(mask, bits), llvm::ConstantInt::get(bits, 0));
}

llvm::AllocaInst* Builder::stack(llvm::Type* type) {
  llvm::BasicBlock& entry = builder_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  return at_entry.CreateAlloca(type);
}

Builder::Values Builder::loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step,
                              const Values& carried, const LoopBody& body) {
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  auto* head = llvm::BasicBlock::Create(builder_.getContext(), "loop");
  auto* after = llvm::BasicBlock::Create(builder_.getContext(), "after");
  builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), head, after);

  begin_block(head);
  llvm::PHINode* i = builder_.CreatePHI(begin->getType(), 2);
  i->addIncoming(begin, before);
  std::vector<llvm::PHINode*> phis;
  Values inside;
  for (llvm::Value* value : carried) {
    phis.push_back(builder_.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    inside.push_back(phis.back());
  }
  const Values next = body(i, inside);
  llvm::BasicBlock* latch = builder_.GetInsertBlock();
  llvm::Value* advanced = builder_.CreateAdd(i, step);
  i->addIncoming(advanced, latch);
  for (size_t k = 0; k < phis.size(); ++k) phis[k]->addIncoming(next[k], latch);
  builder_.CreateCondBr(builder_.CreateICmpSLT(advanced, end), head, after);

  begin_block(after);
  Values results;
  for (size_t k = 0; k < carried.size(); ++k) {
    llvm::PHINode* result = builder_.CreatePHI(carried[k]->getType(), 2);
    result->addIncoming(carried[k], before);
    result->addIncoming(next[k], latch);
    results.push_back(result);
  }
  return results;
}

Builder::Values Builder::walk(llvm::Value* begin, llvm::Value* end, const Values& carried,
                              const LoopBody& body) {
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  auto* head = llvm::BasicBlock::Create(builder_.getContext(), "walk");
  auto* after = llvm::BasicBlock::Create(builder_.getContext(), "after");
  builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), head, after);
  begin_block(head);
  Values start = carried;
  start.push_back(begin);
  std::vector<llvm::PHINode*> phis;
  for (llvm::Value* value : start) {
    phis.push_back(builder_.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
  }
  const Values next = body(phis.back(), Values(phis.begin(), phis.end() - 1));
  llvm::BasicBlock* last = builder_.GetInsertBlock();
  for (size_t k = 0; k < phis.size(); ++k) phis[k]->addIncoming(next[k], last);
  builder_.CreateCondBr(builder_.CreateICmpSLT(next.back(), end), head, after);
  begin_block(after);
  Values result;
  for (size_t k = 0; k < carried.size(); ++k) {
    llvm::PHINode* phi = builder_.CreatePHI(carried[k]->getType(), 2);
    phi->addIncoming(carried[k], before);
    phi->addIncoming(next[k], last);
    result.push_back(phi);
  }
  return result;
}

void Builder::walk(llvm::Value* begin, llvm::Value* end,
                   const std::function<llvm::Value*(llvm::Value* i)>& body) {
  walk(begin, end, {}, [&](llvm::Value* i, const Values&) { return Values{body(i)}; });
}

llvm::Value* Builder::search(llvm::Value* begin, llvm::Value* step,
                             const std::function<llvm::Value*(llvm::Value* i)>& test) {
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  auto* head = llvm::BasicBlock::Create(builder_.getContext(), "search");
  auto* after = llvm::BasicBlock::Create(builder_.getContext(), "after");
  builder_.CreateBr(head);
  begin_block(head);
  llvm::PHINode* i = builder_.CreatePHI(begin->getType(), 2);
  i->addIncoming(begin, before);
  llvm::Value* found = test(i);
  i->addIncoming(builder_.CreateAdd(i, step), builder_.GetInsertBlock());
  builder_.CreateCondBr(found, after, head);
  begin_block(after);
  return i;
}

void Builder::prefetch(llvm::Value* pointer) {
  constexpr int kRead = 0, kSecondLevel = 2, kData = 1;
  builder_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()},
                           {pointer, builder_.getInt32(kRead), builder_.getInt32(kSecondLevel),
                            builder_.getInt32(kData)});
}

void Builder::fence_nontemporal_stores() {
#if defined(__x86_64__)
  builder_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
#else
  builder_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
#endif
}

void Builder::if_then_else(llvm::Value* condition, const std::function<void()>& then_body,
                           const std::function<void()>& else_body) {
  auto* then = llvm::BasicBlock::Create(builder_.getContext(), "then");
  auto* otherwise = llvm::BasicBlock::Create(builder_.getContext(), "else");
  auto* after = llvm::BasicBlock::Create(builder_.getContext(), "after");
  builder_.CreateCondBr(condition, then, otherwise);
  begin_block(then);
  then_body();
  builder_.CreateBr(after);
  begin_block(otherwise);
  else_body();
  builder_.CreateBr(after);
  begin_block(after);
}

Builder::Values Builder::choose(llvm::Value* condition, const std::function<Values()>& then_values,
                                const std::function<Values()>& else_values) {
  std::pair<Values, llvm::BasicBlock*> in[2];
  auto take = [&](int k, const std::function<Values()>& values) {
    in[k].first = values();
    in[k].second = builder_.GetInsertBlock();
  };
  if_then_else(
      condition, [&] { take(0, then_values); }, [&] { take(1, else_values); });
  Values chosen;
  for (size_t k = 0; k < in[0].first.size(); ++k) {
    if (in[0].first[k] == in[1].first[k]) {
      chosen.push_back(in[0].first[k]);
      continue;
    }
    llvm::PHINode* phi = builder_.CreatePHI(in[0].first[k]->getType(), 2);
    for (const auto& [values, block] : in) phi->addIncoming(values[k], block);
    chosen.push_back(phi);
  }
  return chosen;
}

llvm::Value* Builder::choose(llvm::Value* condition,
                             const std::function<llvm::Value*()>& then_value,
                             const std::function<llvm::Value*()>& else_value) {
  return choose(
      condition, [&] { return Values{then_value()}; }, [&] { return Values{else_value()}; })[0];
}

void Builder::if_then(llvm::Value* condition, bool likely, const std::function<void()>& body) {
  auto* then = llvm::BasicBlock::Create(builder_.getContext(), "then");
  auto* after = llvm::BasicBlock::Create(builder_.getContext(), "after");
  llvm::MDNode* weights =
      likely ? nullptr : llvm::MDBuilder(builder_.getContext()).createBranchWeights(1, 1 << 20);
  builder_.CreateCondBr(condition, then, after, weights);
  begin_block(then);
  body();
  builder_.CreateBr(after);
  if (!likely) {
    const auto end = current_function()->end();
    for (auto block = then->getIterator(); block != end; ++block) rare_.push_back(&*block);
  }
  begin_block(after);
}

void Builder::begin_block(llvm::BasicBlock* block) {
  block->insertInto(current_function());
  builder_.SetInsertPoint(block);
}

void Builder::end_function() {
  for (llvm::BasicBlock* block : rare_) block->moveAfter(&current_function()->back());
  rare_.clear();
}

}  // namespace sluice::kernels::ir
