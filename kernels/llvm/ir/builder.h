// The IR builder behind value.h: this thread's builder, its current lane count, and a few IR
// idioms of the emitter. Includes LLVM.
#ifndef SLUICE_KERNELS_LLVM_IR_BUILDER_H_
#define SLUICE_KERNELS_LLVM_IR_BUILDER_H_

#include <functional>
#include <vector>

#include "kernels/llvm/ir/value.h"
#include "llvm/IR/IRBuilder.h"

namespace sluice::kernels::ir {

// This thread's current builder for its lifetime. Values have one lane at first: a scalar in IR,
// not a vector.
class Builder {
 public:
  explicit Builder(llvm::LLVMContext& context);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  static Builder& current();

  llvm::IRBuilder<>& operator*() { return builder_; }
  llvm::IRBuilder<>* operator->() { return &builder_; }
  int lanes() const { return lanes_; }

  // Of a compute type, or of float16, where that is computed in (halves.h).
  llvm::Type* scalar_type(DType dtype);
  // In memory: bool is a byte, half types are 16-bit integers.
  llvm::Type* memory_type(DType dtype);
  // The type of `lanes` values: itself if that is 1, else a vector.
  llvm::Type* with_lanes(llvm::Type* type, int lanes);
  llvm::Type* with_lanes(llvm::Type* type) { return with_lanes(type, lanes_); }

  llvm::Value* index(int64_t value) { return builder_.getInt64(value); }
  // One of kernels/compiled/symbols.h.
  llvm::FunctionCallee host_function(const char* name, llvm::FunctionType* type);
  // Calls one that is hardly ever called, and returns nothing. The call keeps all registers but
  // those of vectors: else whatever the code around it needs would be spilled for its sake.
  void call_rarely(const char* name, llvm::FunctionType* type,
                   const std::vector<llvm::Value*>& arguments);
  // Of signed integers.
  llvm::Value* min(llvm::Value* a, llvm::Value* b);
  llvm::Value* max(llvm::Value* a, llvm::Value* b);
  llvm::Value* magnitude(llvm::Value* a) { return max(a, builder_.CreateNeg(a)); }
  // Of indices, which are not negative.
  llvm::Value* ceil_div(llvm::Value* a, llvm::Value* b);
  // A value of scalar_type() as memory holds it, and back: they differ for bool and float16.
  llvm::Value* to_memory(llvm::Value* value);
  llvm::Value* from_memory(DType dtype, llvm::Value* stored);
  // A vector of `lanes` copies; the value itself for one lane.
  llvm::Value* splat(llvm::Value* scalar, int lanes);
  // <0, 1, 2, ...> of the current lane count.
  llvm::Value* iota(llvm::Type* integer_type);
  // Null masks mean all lanes.
  llvm::Value* both(llvm::Value* mask_a, llvm::Value* mask_b);
  // Lanes below `count` (an i64), which is from 1 to the number of lanes.
  llvm::Value* lanes_below(llvm::Value* count);
  // Likewise those from `count` on; and the last `count`.
  llvm::Value* lanes_from(llvm::Value* count);
  llvm::Value* last_lanes(llvm::Value* count);
  // An i1: whether any lane of a mask is set.
  llvm::Value* any(llvm::Value* mask);
  // Stack space of the function that lives for the whole call.
  llvm::AllocaInst* stack(llvm::Type* type);

  // for (i = begin; i < end; i += step) carried = body(i, carried), signed. Returns the carried
  // values after the last round and leaves the insertion point behind the loop.
  using Values = std::vector<llvm::Value*>;
  using LoopBody = std::function<Values(llvm::Value* i, const Values& carried)>;
  Values loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step, const Values& carried,
              const LoopBody& body);
  // for (i = begin; i < end; i = body(i)), signed. With values carried it is the last that `body`
  // gives.
  Values walk(llvm::Value* begin, llvm::Value* end, const Values& carried, const LoopBody& body);
  void walk(llvm::Value* begin, llvm::Value* end,
            const std::function<llvm::Value*(llvm::Value* i)>& body);
  // The first of begin, begin + step, ... for which the i1 `test` holds.
  llvm::Value* search(llvm::Value* begin, llvm::Value* step,
                      const std::function<llvm::Value*(llvm::Value* i)>& test);
  // Asks for the cache line at `pointer`, which may be any address, in the second-level cache.
  void prefetch(llvm::Value* pointer);
  // Orders non-temporal stores before later stores, as other threads see them.
  void fence_nontemporal_stores();
  // Runs `body` if the i1 `condition` holds.
  void if_then(llvm::Value* condition, bool likely, const std::function<void()>& body);
  void if_then_else(llvm::Value* condition, const std::function<void()>& then_body,
                    const std::function<void()>& else_body);
  // One of two values, or lists of values, of which only the one wanted is computed.
  Values choose(llvm::Value* condition, const std::function<Values()>& then_values,
                const std::function<Values()>& else_values);
  llvm::Value* choose(llvm::Value* condition, const std::function<llvm::Value*()>& then_value,
                      const std::function<llvm::Value*()>& else_value);
  // Moves what is rarely run behind all else: blocks are laid out as they lie in the function.
  void end_function();

 private:
  friend class LaneScope;
  friend class HalvesScope;
  // Whether masks are words in registers of their own, which arithmetic makes.
  bool has_mask_words() const;
  llvm::Function* current_function() const { return builder_.GetInsertBlock()->getParent(); }
  // Appends it to the function, and inserts there.
  void begin_block(llvm::BasicBlock* block);
  llvm::IRBuilder<> builder_;
  int lanes_ = 1;
  bool halves_ = false;
  std::vector<llvm::BasicBlock*> rare_;
  Builder* outer_;
};

// Sets the lane count of values made in its lifetime.
class LaneScope {
 public:
  explicit LaneScope(int lanes) : builder_(Builder::current()), outer_(builder_.lanes_) {
    builder_.lanes_ = lanes;
  }
  ~LaneScope() { builder_.lanes_ = outer_; }
  LaneScope(const LaneScope&) = delete;
  LaneScope& operator=(const LaneScope&) = delete;

 private:
  Builder& builder_;
  int outer_;
};

// In its lifetime what is written for float32 is made of float16.
class HalvesScope {
 public:
  explicit HalvesScope(bool on) : builder_(Builder::current()), outer_(builder_.halves_) {
    builder_.halves_ = on;
  }
  ~HalvesScope() { builder_.halves_ = outer_; }
  HalvesScope(const HalvesScope&) = delete;
  HalvesScope& operator=(const HalvesScope&) = delete;

 private:
  Builder& builder_;
  bool outer_;
};

// In its lifetime float operations may be contracted with each other, if `on`.
class ContractionScope {
 public:
  explicit ContractionScope(bool on) : guard_(*Builder::current()) {
    llvm::FastMathFlags flags;
    flags.setAllowContract(on);
    Builder::current()->setFastMathFlags(flags);
  }

 private:
  llvm::IRBuilder<>::FastMathFlagGuard guard_;
};

}  // namespace sluice::kernels::ir

#endif  // SLUICE_KERNELS_LLVM_IR_BUILDER_H_
