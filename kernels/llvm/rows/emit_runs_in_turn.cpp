// Rows of long runs, run by run: what a run begins with is found once, not for each leaf. Where
// rows are interleaved, each takes its run in turn, so that memory is read in order. Leaves begin
// and end within runs: what the lanes of one have when its run ends waits in memory until the row's
// next turn.
#include <functional>
#include <vector>

#include "fusion/ir/scan.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

bool KernelEmitter::takes_runs_in_turn(const RowPlan::Stage& pass) const {
  return has_panels() && lanes_reduced() && !is_in_any_order(pass);
}

bool KernelEmitter::goes_by_runs(const RowPlan::Stage& pass) const {
  constexpr size_t kMaxInstrs = 8;
  return host().masked_vectors && lanes_reduced() && program_.reduced_rank > 1 &&
         program_.body.size() <= kMaxInstrs && !program_.tiled && !copies_runs() &&
         !has_scans(program_) && plan_.cached.empty() && pass.stores.empty() &&
         !pass.reductions.empty();
}

llvm::Value* KernelEmitter::are_long_runs() {
  // Shorter ones are not worth a turn each.
  constexpr int64_t kLeastElements = 512;
  return ir_.CreateICmpSGE(body_->extent(program_.rank() - 1), builder_.index(kLeastElements));
}

ir::Builder::Values KernelEmitter::emit_in_run(const RowPlan::Stage& pass, llvm::Value* begin,
                                               llvm::Value* end, const Values& carried,
                                               const ir::Builder::LoopBody& body) {
  if (rotates_lanes(pass)) {
    return rotated_lanes(step_loop(pass, begin, end, carried, body, body),
                         ir_.CreateSub(end, begin));
  }
  llvm::Value* lanes = builder_.index(builder_.lanes());
  // All whole vectors from `i` on, or one that the run cuts.
  auto emit_part = [&](llvm::Value* i, const Values& before) {
    llvm::Value* whole = ir_.CreateAnd(ir_.CreateSub(end, i), ir_.CreateNeg(lanes));
    llvm::Value* is_whole =
        ir_.CreateAnd(ir_.CreateICmpSGE(i, begin), ir_.CreateICmpSGT(whole, builder_.index(0)));
    llvm::Value* to = ir_.CreateAdd(i, ir_.CreateSelect(is_whole, whole, lanes));
    Values after = builder_.choose(
        is_whole,
        [&] {
          body_->set_active(nullptr);
          return builder_.loop(i, to, lanes, before, body);
        },
        [&] {
          // The run has elements in the vector: it begins before the last lane's end.
          llvm::Value* from = builder_.max(begin, i);
          llvm::Value* until = builder_.min(end, to);
          if (has_row_end(pass)) return emit_cut_step(pass, i, from, until, before, body);
          set_active_between(ir_.CreateSub(from, i), ir_.CreateSub(until, i));
          return body(i, before);
        });
    after.push_back(to);
    return after;
  };
  return builder_.walk(ir_.CreateAnd(begin, ir_.CreateNeg(lanes)), end, carried, emit_part);
}

void KernelEmitter::emit_runs_in_turn(const RowPlan::Stage& pass, const Tree& tree, int rows,
                                      const TakeTurns& take_turns) {
  const auto [begin, end] = element_range();
  llvm::Value* one = builder_.index(1);
  llvm::Value* size = builder_.index(fusion::leaf_size(program_.schedule));
  llvm::Value* run = body_->extent(program_.rank() - 1);
  Waiting waiting;
  {
    const ir::LaneScope wide(plan_.lanes);
    waiting = make_waiting(pass, rows);
  }
  llvm::Value* leaf = nullptr;
  std::vector<StreamAhead> ahead;
  const auto add_elements = [&](llvm::Value* r, const Values& in) {
    prefetch(ahead, r);
    return flatten(add_element(pass, r, leaf, unflatten(pass.reductions, program_, in)));
  };
  // The elements [first, last) of a run, leaf by leaf.
  auto add_run = [&](llvm::Value* column, llvm::Value* first, llvm::Value* last,
                     const Values& carried) {
    return builder_.walk(first, last, carried, [&](llvm::Value* r, const Values& in) {
      llvm::Value* number = ir_.CreateUDiv(ir_.CreateSub(r, begin), size);
      leaf = ir_.CreateAdd(begin, ir_.CreateMul(number, size));
      llvm::Value* next_leaf = ir_.CreateAdd(leaf, size);
      llvm::Value* end_of_leaf = builder_.min(next_leaf, end);
      llvm::Value* to = builder_.min(end_of_leaf, last);
      Values lanes;
      {
        const ir::LaneScope wide(plan_.lanes);
        lanes = emit_in_run(pass, r, to, in, add_elements);
        body_->set_active(nullptr);
      }
      Values after = builder_.choose(
          ir_.CreateICmpEQ(to, end_of_leaf),
          [&] {
            const Accumulators leaf_lanes = unflatten(pass.reductions, program_, lanes);
            add_to_tree(tree, column, number, fold_leaf(pass, leaf, leaf_lanes));
            return waiting.start;
          },
          [&] { return lanes; });
      // Not `to`: addresses would wait for what bounds are spilled to, and so for stores.
      after.push_back(next_leaf);
      return after;
    });
  };
  llvm::Value* first_run = ir_.CreateUDiv(begin, run);
  llvm::Value* end_of_runs = builder_.ceil_div(end, run);
  builder_.loop(first_run, end_of_runs, one, {}, [&](llvm::Value* number, const Values&) {
    llvm::Value* first = ir_.CreateMul(number, run);
    llvm::Value* from = builder_.max(first, begin);
    llvm::Value* to = builder_.min(ir_.CreateAdd(first, run), end);
    llvm::Value* is_first = ir_.CreateICmpEQ(number, first_run);
    Values indices = indices_of_run(number);
    indices.pop_back();
    take_turns([&](llvm::Value* column, llvm::Value*) {
      {
        const ir::LaneScope wide(plan_.lanes);
        body_->splat_operands(pass.instrs, pass.stores);
      }
      ahead = runs_ahead(pass, /*by_turns=*/true);
      const Values before = read_waiting(waiting, column, is_first);
      body_->set_run(indices, first);
      write_waiting(waiting, column, add_run(column, from, to, before));
    });
    return Values{};
  });
}

}  // namespace sluice::kernels
