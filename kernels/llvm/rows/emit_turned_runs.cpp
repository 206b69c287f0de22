// Reductions in any order over two dims, of which the last is short: a vector of each run takes its
// turn before the next vector does, so that the lanes past the end of a run are the same in all and
// what one lane finds waits for nothing.
#include <algorithm>
#include <cstddef>

#include "fusion/ir/any_order.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

using fusion::ValueId;

bool KernelEmitter::turns_runs(const RowPlan::Stage& pass) const {
  constexpr size_t kMaxInstrs = 8;
  return host().masked_vectors && lanes_reduced() && program_.reduced_rank == 2 &&
         !program_.one_leaf && program_.body.size() <= kMaxInstrs && plan_.cached.empty() &&
         !pass.reductions.empty() && pass.stores.empty() && !reads_tiles_only(pass) &&
         !repeats_in_runs(pass) && fusion::takes_any_order(program_) &&
         std::all_of(pass.reductions.begin(), pass.reductions.end(),
                     [&](ValueId id) { return leaf_type_of(id) == type_of(id); });
}

llvm::Value* KernelEmitter::are_short_runs() {
  constexpr int64_t kMostVectors = 64;
  llvm::Value* length = body_->extent(program_.rank() - 1);
  return ir_.CreateICmpSLE(length, builder_.index(kMostVectors * plan_.lanes));
}

llvm::Value* KernelEmitter::elements_of_turns(llvm::Value* least) {
  llvm::Value* run = builder_.max(body_->extent(program_.rank() - 1), builder_.index(1));
  llvm::Value* runs = builder_.max(builder_.ceil_div(least, run), builder_.index(kTurnedRuns));
  return ir_.CreateSelect(are_short_runs(), ir_.CreateMul(run, runs), least);
}

llvm::Value* KernelEmitter::are_far_runs(const RowPlan::Stage& pass) {
  // Vectors of short elements are few: those of short runs gain by turns.
  constexpr int64_t kWideElement = 4;
  constexpr int64_t kCached = 16 << 20, kLongRun = 256;
  const int64_t bytes = widest_of(loads_along_reduced(pass));
  llvm::Value* are_far = is_far(kCached / bytes);
  if (bytes >= kWideElement) return are_far;
  llvm::Value* length = body_->extent(program_.rank() - 1);
  llvm::Value* are_long = ir_.CreateICmpSGE(length, builder_.index(kLongRun / bytes));
  return ir_.CreateAnd(are_far, are_long);
}

ir::Builder::Values KernelEmitter::turned_run_loop(const RowPlan::Stage& pass, llvm::Value* first,
                                                   llvm::Value* last, const Values& carried,
                                                   const ir::Builder::LoopBody& body) {
  constexpr int kStates = 4;
  llvm::Value* zero = builder_.index(0);
  llvm::Value* one = builder_.index(1);
  llvm::Value* length = builder_.max(body_->extent(program_.rank() - 1), one);
  llvm::Value* begin = builder_.ceil_div(first, length);
  llvm::Value* end = ir_.CreateUDiv(last, length);
  llvm::Value* turns = ir_.CreateAnd(are_short_runs(), ir_.CreateICmpSLT(begin, end));
  turns = ir_.CreateAnd(turns, ir_.CreateNot(are_far_runs(pass)));
  // The parts of runs before and after whole ones, or all.
  llvm::Value* before = ir_.CreateSelect(turns, ir_.CreateMul(begin, length), last);
  llvm::Value* after = ir_.CreateSelect(turns, ir_.CreateMul(end, length), last);
  const Values edges = builder_.loop(
      zero, builder_.index(2), one, carried, [&](llvm::Value* part, const Values& in) {
        llvm::Value* is_first = ir_.CreateICmpEQ(part, zero);
        return run_loop(pass, ir_.CreateSelect(is_first, first, after),
                        ir_.CreateSelect(is_first, before, last), in, body);
      });
  auto add = [&](llvm::Value* run, llvm::Value* column, Accumulators state) {
    llvm::Value* start = ir_.CreateMul(run, length);
    body_->set_run({run}, start);
    llvm::Value* r = ir_.CreateAdd(start, column);
    emit_element(pass, r);
    for (size_t k = 0; k < state.size(); ++k) {
      const ValueId id = pass.reductions[k];
      state[k] = ir::emit_combine_next(combining_op(id), leaf_type_of(id), state[k],
                                       leaf_element(id, r, first));
    }
    return state;
  };
  // A vector of each of the runs [from, to). Each operation waits for the one before it.
  auto reduce_runs = [&](llvm::Value* from, llvm::Value* to, llvm::Value* column) {
    const Accumulators identity = leaf_start(pass.reductions);
    const Values identities = flatten(identity);
    const size_t size = identities.size();
    Values start;
    for (int s = 0; s < kStates; ++s) {
      start.insert(start.end(), identities.begin(), identities.end());
    }
    llvm::Value* whole = ir_.CreateAnd(ir_.CreateSub(to, from), -int64_t{kStates});
    llvm::Value* rest = ir_.CreateAdd(from, whole);
    auto state_of = [&](const Values& in, int s) {
      const auto at = in.begin() + static_cast<std::ptrdiff_t>(s * size);
      return unflatten(pass.reductions, program_,
                       Values(at, at + static_cast<std::ptrdiff_t>(size)));
    };
    const Values states = builder_.loop(
        from, rest, builder_.index(kStates), start, [&](llvm::Value* run, const Values& in) {
          Values next;
          for (int s = 0; s < kStates; ++s) {
            llvm::Value* at = ir_.CreateAdd(run, builder_.index(s));
            const Values state = flatten(add(at, column, state_of(in, s)));
            next.insert(next.end(), state.begin(), state.end());
          }
          return next;
        });
    Accumulators total = state_of(states, 0);
    for (int s = 1; s < kStates; ++s) total = combine(pass.reductions, total, state_of(states, s));
    const Values all =
        builder_.loop(rest, to, one, flatten(total), [&](llvm::Value* run, const Values& in) {
          return flatten(add(run, column, unflatten(pass.reductions, program_, in)));
        });
    return unflatten(pass.reductions, program_, all);
  };
  const Values result = builder_.loop(
      begin, ir_.CreateSelect(turns, end, begin), builder_.index(kTurnedRuns), edges,
      [&](llvm::Value* run, const Values& in) {
        llvm::Value* to = builder_.min(ir_.CreateAdd(run, builder_.index(kTurnedRuns)), end);
        llvm::Value* lanes = builder_.index(builder_.lanes());
        return builder_.loop(
            zero, length, lanes, in, [&](llvm::Value* column, const Values& state) {
              set_active_below(column, length);
              const Accumulators before_these = unflatten(pass.reductions, program_, state);
              Values next =
                  flatten(combine(pass.reductions, before_these, reduce_runs(run, to, column)));
              for (size_t k = 0; k < next.size(); ++k) {
                next[k] = ir_.CreateSelect(body_->active(), next[k], state[k]);
              }
              return next;
            });
      });
  body_->set_active(nullptr);
  return result;
}

}  // namespace sluice::kernels
