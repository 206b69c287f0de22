// Leaves of columns, row by row. Walking down the rows of a leaf by one vector of columns after
// another reads memory in pieces, of which the hardware foresees few: rows by rows, whole, it is
// read in its order. What each column has so far waits in memory, which the first-level cache
// holds.
#include <algorithm>
#include <cstdint>

#include "fusion/ir/scan.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

KernelEmitter::Waiting KernelEmitter::make_waiting(const RowPlan::Stage& pass, int width) {
  Waiting waiting{flatten(leaf_start(pass.reductions)), {}};
  for (llvm::Value* value : waiting.start) {
    waiting.memory.push_back(builder_.stack(llvm::ArrayType::get(value->getType(), width)));
  }
  return waiting;
}

ir::Builder::Values KernelEmitter::read_waiting(const Waiting& waiting, llvm::Value* column,
                                                llvm::Value* is_first) {
  Values state;
  for (size_t k = 0; k < waiting.start.size(); ++k) {
    llvm::Type* type = waiting.start[k]->getType();
    llvm::Value* before = ir_.CreateLoad(type, ir_.CreateGEP(type, waiting.memory[k], column));
    state.push_back(ir_.CreateSelect(is_first, waiting.start[k], before));
  }
  return state;
}

void KernelEmitter::write_waiting(const Waiting& waiting, llvm::Value* column,
                                  const Values& state) {
  for (size_t k = 0; k < state.size(); ++k) {
    ir_.CreateStore(state[k], ir_.CreateGEP(state[k]->getType(), waiting.memory[k], column));
  }
}

bool KernelEmitter::can_go_by_rows(const RowPlan::Stage& pass) const {
  // Zen 5 has another way: see width_of_panels().
  return has_panels() && !lanes_reduced() && !host().masks_slow_streams &&
         !pass.reductions.empty() && pass.stores.empty() && pass.to_cache.empty() &&
         pass.from_cache.empty();
}

llvm::Value* KernelEmitter::are_better_by_rows(llvm::Value* first, llvm::Value* last) {
  // What the caches hold is faster with sums in registers, and so are pieces of long rows.
  constexpr int64_t kCached = 8 << 20, kShortRow = 256, kLongRow = 8 << 10;
  std::vector<uint16_t> loads;
  for (const RowPlan::Stage& pass : plan_.passes) {
    if (!can_go_by_rows(pass)) continue;
    for (const uint16_t access : loads_along_reduced(pass)) loads.push_back(access);
  }
  if (loads.empty()) return nullptr;
  const int64_t widest = widest_of(loads);
  llvm::Value* columns = ir_.CreateSub(last, first);
  llvm::Value* are_better = ir_.CreateAnd(
      is_far(kCached / widest), ir_.CreateICmpSGE(columns, builder_.index(kShortRow / widest)));
  for (const uint16_t access : loads) {
    const auto size = static_cast<int64_t>(size_of(program_.accesses[access].dtype));
    llvm::Value* stride = body_->stride(access, program_.rank() - 1);
    llvm::Value* row = builder_.max(stride, ir_.CreateNeg(stride));
    are_better = ir_.CreateAnd(are_better, ir_.CreateICmpSLE(row, builder_.index(kLongRow / size)));
  }
  return are_better;
}

void KernelEmitter::emit_leaf_by_rows(
    const RowPlan::Stage& pass, const Waiting& waiting, llvm::Value* first, llvm::Value* last,
    const TakeTurns& take_turns,
    const std::function<void(llvm::Value* column, const Accumulators&)>& keep) {
  builder_.loop(first, last, builder_.index(1), {}, [&](llvm::Value* r, const Values&) {
    llvm::Value* is_first = ir_.CreateICmpEQ(r, first);
    take_turns([&](llvm::Value* column, llvm::Value*) {
      const Values before = read_waiting(waiting, column, is_first);
      const Accumulators state = unflatten(pass.reductions, program_, before);
      write_waiting(waiting, column, flatten(add_element(pass, r, first, state)));
    });
    return Values{};
  });
  take_turns([&](llvm::Value* column, llvm::Value*) {
    const Values lanes = read_waiting(waiting, column, ir_.getFalse());
    Accumulators leaf = unflatten(pass.reductions, program_, lanes);
    widen_leaf(first, &leaf, pass.reductions);
    keep(column, leaf);
  });
}

}  // namespace sluice::kernels
