// What whole steps leave of a row, where masks are not free, or what is computed is costly. A step
// is several vectors of the hardware, of which only those that have elements are computed, and one
// at most under a mask; where masks are free, the halves of a step. Rows that follow one another
// are alike, so that the processor foresees which.
#include <algorithm>
#include <functional>
#include <vector>

#include "fusion/ir/cost.h"
#include "fusion/ir/scan.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"
#include "llvm/Analysis/VectorUtils.h"

namespace sluice::kernels {

using fusion::ValueId;
using ir::LaneScope;

int KernelEmitter::lanes_of_row_end(const RowPlan::Stage& pass) const {
  constexpr int kMostLanes = 16;
  if (has_scans(program_)) return plan_.lanes;
  if (host().masked_vectors) {
    const bool is_costly = std::any_of(pass.instrs.begin(), pass.instrs.end(), [&](ValueId id) {
      return fusion::is_costly(program_.body[id].op);
    });
    return is_costly && program_.reduced_rank == 1 ? plan_.lanes / 2 : plan_.lanes;
  }
  size_t widest = 1;
  for (const ValueId id : pass.reductions) {
    // A lane of bools is no memory of its own.
    if (leaf_type_of(id) == DType::kBool) return plan_.lanes;
    widest = std::max(widest, size_of(leaf_type_of(id)));
  }
  if (pass.reductions.empty() || !has_narrow_tail(pass.instrs)) {
    for (const ValueId id : pass.instrs) {
      widest = std::max(widest, size_of(compute_type(program_.body[id].dtype)));
    }
  }
  return std::min({host().vector_bytes / static_cast<int>(widest), kMostLanes, plan_.lanes});
}

ir::Builder::Values KernelEmitter::emit_row_end(const RowPlan::Stage& pass, llvm::Value* first,
                                                llvm::Value* last, const Values& carried,
                                                const ir::Builder::LoopBody& body) {
  return has_narrow_tail(pass.instrs) || host().masked_vectors
             ? emit_short_row_end(pass, lanes_of_row_end(pass), first, last, carried, body)
             : emit_long_row_end(pass, first, last, carried, body);
}

// Of much code: as many vectors as half a step has, half as many and so on, as far as the bits of
// their number say, and one under a mask. That is as much code as a step, and vectors side by side
// overlap, of which each is one chain of operations.
ir::Builder::Values KernelEmitter::emit_long_row_end(const RowPlan::Stage& pass, llvm::Value* first,
                                                     llvm::Value* last, const Values& carried,
                                                     const ir::Builder::LoopBody& body) {
  const PartsOfStep parts = begin_parts(carried);
  llvm::Value* begin = first;
  for (int lanes = plan_.lanes / 2; lanes >= lanes_of_row_end(pass); lanes /= 2) {
    LaneScope narrow(lanes);
    llvm::Value* end = ir_.CreateAdd(begin, builder_.index(lanes));
    const Values after = builder_.choose(
        ir_.CreateICmpSLE(end, last),
        [&] {
          body_->splat_operands(pass.instrs, pass.stores);
          emit_part(parts, begin, first, body);
          return Values{end};
        },
        [&] { return Values{begin}; });
    begin = after[0];
  }
  builder_.if_then(ir_.CreateICmpSLT(begin, last), /*likely=*/true, [&] {
    LaneScope narrow(lanes_of_row_end(pass));
    body_->splat_operands(pass.instrs, pass.stores);
    set_active_below(begin, last);
    emit_part(parts, begin, first, body);
    body_->set_active(nullptr);
  });
  return end_parts(parts);
}

ir::Builder::Values KernelEmitter::emit_cut_step(const RowPlan::Stage& pass, llvm::Value* step,
                                                 llvm::Value* first, llvm::Value* last,
                                                 const Values& carried,
                                                 const ir::Builder::LoopBody& body) {
  llvm::Value* lanes = builder_.index(lanes_of_row_end(pass));
  llvm::Value* whole = ir_.CreateAnd(ir_.CreateSub(first, step), ir_.CreateNeg(lanes));
  llvm::Value* begin = ir_.CreateAdd(step, whole);
  return emit_parts(pass, begin, last, step, carried, [&](llvm::Value* i, const Values& before) {
    return emit_between(i, first, last, before, body);
  });
}

ir::Builder::Values KernelEmitter::emit_parts(const RowPlan::Stage& pass, llvm::Value* first,
                                              llvm::Value* last, llvm::Value* step,
                                              const Values& carried,
                                              const ir::Builder::LoopBody& body) {
  const PartsOfStep parts = begin_parts(carried);
  {
    LaneScope narrow(lanes_of_row_end(pass));
    body_->splat_operands(pass.instrs, pass.stores);
    llvm::Value* lanes = builder_.index(builder_.lanes());
    builder_.loop(first, last, lanes, {}, [&](llvm::Value* i, const Values&) {
      emit_part(parts, i, step, body);
      return Values{};
    });
    body_->set_active(nullptr);
  }
  return end_parts(parts);
}

KernelEmitter::PartsOfStep KernelEmitter::begin_parts(const Values& carried) {
  PartsOfStep parts;
  for (llvm::Value* value : carried) {
    parts.push_back(builder_.stack(value->getType()));
    ir_.CreateStore(value, parts.back());
  }
  return parts;
}

void KernelEmitter::emit_part(const PartsOfStep& parts, llvm::Value* i, llvm::Value* step,
                              const ir::Builder::LoopBody& body) {
  llvm::Value* lane = ir_.CreateSub(i, step);
  Values places, before;
  for (llvm::AllocaInst* memory : parts) {
    llvm::Type* type = memory->getAllocatedType()->getScalarType();
    const llvm::Align align(type->getScalarSizeInBits() / 8);
    places.push_back(ir_.CreateGEP(type, memory, lane));
    before.push_back(ir_.CreateAlignedLoad(builder_.with_lanes(type), places.back(), align));
  }
  const Values after = body(i, before);
  for (size_t k = 0; k < parts.size(); ++k) {
    const llvm::Align align(after[k]->getType()->getScalarSizeInBits() / 8);
    ir_.CreateAlignedStore(after[k], places[k], align);
  }
}

ir::Builder::Values KernelEmitter::end_parts(const PartsOfStep& parts) {
  Values result;
  for (llvm::AllocaInst* memory : parts) {
    result.push_back(ir_.CreateLoad(memory->getAllocatedType(), memory));
  }
  return result;
}

ir::Builder::Values KernelEmitter::emit_short_row_end(const RowPlan::Stage& pass, int lanes,
                                                      llvm::Value* first, llvm::Value* last,
                                                      const Values& carried,
                                                      const ir::Builder::LoopBody& body) {
  const int parts = plan_.lanes / lanes;
  const size_t width = carried.size();
  LaneScope narrow(lanes);
  // By part, then as `carried`.
  Values states;
  for (int part = 0; part < parts; ++part) {
    std::vector<int> places;
    for (int i = 0; i < lanes; ++i) places.push_back(part * lanes + i);
    for (llvm::Value* value : carried) states.push_back(ir_.CreateShuffleVector(value, places));
  }
  body_->splat_operands(pass.instrs, pass.stores);
  llvm::Value* count = ir_.CreateSub(last, first);
  auto with_part = [&](int part, llvm::Value* begin, Values before) {
    lane_of_step_ = part * lanes;
    const auto at = before.begin() + static_cast<std::ptrdiff_t>(part * width);
    const Values next = body(begin, Values(at, at + static_cast<std::ptrdiff_t>(width)));
    std::copy(next.begin(), next.end(), at);
    return before;
  };
  std::function<Values(int, const Values&)> emit_from = [&](int part, const Values& before) {
    llvm::Value* begin = ir_.CreateAdd(first, builder_.index(part * lanes));
    auto masked = [&] {
      return builder_.choose(
          ir_.CreateICmpSLT(begin, last),
          [&] {
            set_active_below(begin, last);
            const Values after = with_part(part, begin, before);
            body_->set_active(nullptr);
            return after;
          },
          [&] { return before; });
    };
    if (part == parts - 1) return masked();
    return builder_.choose(
        ir_.CreateICmpSGE(count, builder_.index((part + 1) * lanes)),
        [&] { return emit_from(part + 1, with_part(part, begin, before)); }, masked);
  };
  states = emit_from(0, states);
  lane_of_step_ = 0;
  Values result;
  for (size_t k = 0; k < width; ++k) {
    std::vector<llvm::Value*> vectors;
    for (int part = 0; part < parts; ++part) vectors.push_back(states[part * width + k]);
    result.push_back(llvm::concatenateVectors(ir_, vectors));
  }
  return result;
}

bool KernelEmitter::has_short_rows(const RowPlan::Stage& pass) const {
  return program_.reduced_rank == 1 && may_repeat(pass) && has_narrow_tail(pass.instrs);
}

ir::Builder::Values KernelEmitter::short_row_or(const RowPlan::Stage& pass, llvm::Value* first,
                                                llvm::Value* last,
                                                const ir::Builder::LoopBody& body,
                                                const std::function<Values()>& longer) {
  constexpr int kFewest = 8;
  llvm::Value* count = ir_.CreateSub(last, first);
  std::function<Values(int)> emit_from = [&](int lanes) {
    if (lanes >= plan_.lanes) return longer();
    llvm::Value* fits = ir_.CreateAnd(ir_.CreateICmpSGE(count, builder_.index(lanes)),
                                      ir_.CreateICmpSLT(count, builder_.index(2L * lanes)));
    return builder_.choose(
        fits,
        [&] {
          std::vector<int> repeated;
          for (int i = 0; i < plan_.lanes; ++i) repeated.push_back(i % lanes);
          LaneScope narrow(lanes);
          body_->splat_operands(pass.instrs, pass.stores);
          body_->set_active(nullptr);
          Values state = body(first, flatten(leaf_start(pass.reductions)));
          state = body(ir_.CreateSub(last, builder_.index(lanes)), state);
          for (llvm::Value*& value : state) value = ir_.CreateShuffleVector(value, repeated);
          return state;
        },
        [&] { return emit_from(2 * lanes); });
  };
  return emit_from(kFewest);
}

}  // namespace sluice::kernels
