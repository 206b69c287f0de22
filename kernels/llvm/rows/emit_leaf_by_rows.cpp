// Leaves of columns, row by row. Walking down the rows of a leaf by one vector of columns after
// another reads memory in pieces, of which the hardware foresees few: by whole rows it is read
// in its order. What each column has so far waits in memory, which the first-level cache
// holds.
#include <algorithm>
#include <cstdint>

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
  // What the caches hold is faster with sums in registers, and so are pieces of rows, unless lines
  // of several rows are next to each other.
  constexpr int64_t kCached = 12 << 20, kShortRow = 256, kNearRow = 1 << 10;
  constexpr int64_t kLongRow = 8 << 10, kMostColumns = 2048;
  std::vector<uint16_t> loads;
  for (const RowPlan::Stage& pass : plan_.passes) {
    if (!can_go_by_rows(pass)) continue;
    for (const uint16_t access : loads_along_reduced(pass)) loads.push_back(access);
  }
  if (loads.empty()) return nullptr;
  const int64_t widest = widest_of(loads);
  llvm::Value* columns = ir_.CreateSub(last, first);
  llvm::Value* is_panel =
      ir_.CreateICmpSLE(columns, builder_.index(widest_panel() * builder_.lanes()));
  llvm::Value* are_better = ir_.CreateAnd(
      is_far(kCached / widest), ir_.CreateICmpSGE(columns, builder_.index(kShortRow / widest)));
  for (const uint16_t access : loads) {
    const auto size = static_cast<int64_t>(size_of(program_.accesses[access].dtype));
    llvm::Value* stride = builder_.magnitude(body_->stride(access, program_.rank() - 1));
    llvm::Value* is_short =
        ir_.CreateICmpSLE(stride, builder_.index(std::min(kLongRow / size, kMostColumns)));
    // Of longer ones, or if a part is wanted, that is a piece.
    llvm::Value* wanted = ir_.CreateMul(columns, builder_.magnitude(body_->lane_stride(access)));
    llvm::Value* is_row = ir_.CreateICmpSGE(ir_.CreateMul(wanted, builder_.index(4)),
                                            ir_.CreateMul(stride, builder_.index(3)));
    is_row = ir_.CreateAnd(is_row, is_panel);
    is_row = ir_.CreateOr(is_row, ir_.CreateICmpSLE(stride, builder_.index(kNearRow / size)));
    are_better = ir_.CreateAnd(are_better, ir_.CreateAnd(is_short, is_row));
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
