// Loops over vectors of lanes: the masks of what is not a whole vector, and the runs that rows of
// several dims are made of.
#include <algorithm>
#include <functional>
#include <utility>

#include "fusion/ir/any_order.h"
#include "fusion/ir/scan.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

using fusion::ValueId;

void KernelEmitter::set_active_below(llvm::Value* i, llvm::Value* last) {
  set_first_active(builder_.min(ir_.CreateSub(last, i), builder_.index(builder_.lanes())));
}

void KernelEmitter::set_first_active(llvm::Value* count) {
  body_->set_active(builder_.lanes_below(count), ir_.CreateTrunc(count, ir_.getInt32Ty()));
}

void KernelEmitter::set_active_between(llvm::Value* from, llvm::Value* to) {
  llvm::Type* word = ir_.getInt32Ty();
  constexpr int kMostLanes = 64;
  if (host().masked_vectors && builder_.lanes() <= kMostLanes) {
    // Neither is a shift by the width: there are lanes between.
    llvm::Value* ones = llvm::Constant::getAllOnesValue(ir_.getInt64Ty());
    llvm::Value* below = ir_.CreateLShr(ones, ir_.CreateSub(builder_.index(kMostLanes), to));
    llvm::Value* bits = ir_.CreateAnd(below, ir_.CreateShl(ones, from));
    bits = ir_.CreateTrunc(bits, ir_.getIntNTy(builder_.lanes()));
    body_->set_active(ir_.CreateBitCast(bits, builder_.with_lanes(ir_.getInt1Ty())));
    return;
  }
  auto splat = [&](llvm::Value* lane) {
    return builder_.splat(ir_.CreateTrunc(lane, word), builder_.lanes());
  };
  llvm::Value* lane = builder_.iota(word);
  body_->set_active(
      ir_.CreateAnd(ir_.CreateICmpUGE(lane, splat(from)), ir_.CreateICmpULT(lane, splat(to))));
}

ir::Builder::Values KernelEmitter::masked_loop(llvm::Value* first, llvm::Value* last,
                                               const Values& carried,
                                               const ir::Builder::LoopBody& body) {
  return builder_.loop(first, last, builder_.index(builder_.lanes()), carried,
                       [&](llvm::Value* i, const Values& in) {
                         set_active_below(i, last);
                         return body(i, in);
                       });
}

ir::Builder::Values KernelEmitter::masked_rest(llvm::Value* first, llvm::Value* last,
                                               const Values& carried,
                                               const ir::Builder::LoopBody& body) {
  return builder_.choose(
      ir_.CreateICmpSLT(first, last),
      [&] {
        set_first_active(ir_.CreateSub(last, first));
        return body(first, carried);
      },
      [&] { return carried; });
}

llvm::Value* KernelEmitter::whole_loop(llvm::Value* first, llvm::Value* last, Values* carried,
                                       const ir::Builder::LoopBody& body) {
  llvm::Value* whole = ir_.CreateAnd(ir_.CreateSub(last, first), -int64_t{builder_.lanes()});
  llvm::Value* rest = ir_.CreateAdd(first, whole);
  body_->set_active(nullptr);
  *carried = builder_.loop(first, rest, builder_.index(builder_.lanes()), *carried, body);
  return rest;
}

void KernelEmitter::emit_parts(llvm::Value* first, llvm::Value* begin, llvm::Value* end,
                               llvm::Value* last, const EmitPart& emit_whole,
                               const EmitPart& emit_other) {
  llvm::Value* zero = builder_.index(0);
  llvm::Value* one = builder_.index(1);
  builder_.loop(zero, builder_.index(3), one, {}, [&](llvm::Value* part, const Values&) {
    builder_.if_then_else(
        ir_.CreateICmpEQ(part, one), [&] { emit_whole(begin, end); },
        [&] {
          llvm::Value* is_first = ir_.CreateICmpEQ(part, zero);
          emit_other(ir_.CreateSelect(is_first, first, end),
                     ir_.CreateSelect(is_first, begin, last));
        });
    return Values{};
  });
}

ir::Builder::Values KernelEmitter::split_loop(llvm::Value* first, llvm::Value* last, Values carried,
                                              const ir::Builder::LoopBody& body) {
  llvm::Value* rest = whole_loop(first, last, &carried, body);
  return masked_rest(rest, last, carried, body);
}

ir::Builder::Values KernelEmitter::lane_loop(llvm::Value* first, llvm::Value* last,
                                             const Values& carried,
                                             const ir::Builder::LoopBody& body, bool may_repeat) {
  // There are no masked non-temporal stores, and rows are mostly whole vectors.
  const bool is_along_rows = lanes_reduced() || program_.lanes_across_rows;
  if (host().masked_vectors && !program_.nontemporal && !is_along_rows) {
    return masked_loop(first, last, carried, body);
  }
  if (!may_repeat) return split_loop(first, last, carried, body);
  // The last vector ends with the row.
  llvm::Value* lanes = builder_.index(builder_.lanes());
  llvm::Value* start_of_last = ir_.CreateSub(last, lanes);
  llvm::Value* rest = ir_.CreateSelect(ir_.CreateICmpSLE(first, start_of_last), last, first);
  body_->set_active(nullptr);
  const Values after = builder_.loop(
      first, rest, lanes, carried,
      [&](llvm::Value* i, const Values& in) { return body(builder_.min(i, start_of_last), in); });
  return masked_rest(rest, last, after, body);
}

ir::Builder::Values KernelEmitter::step_loop(const RowPlan::Stage& pass, llvm::Value* first,
                                             llvm::Value* last, Values carried,
                                             const ir::Builder::LoopBody& body,
                                             const ir::Builder::LoopBody& end_body) {
  if (!has_row_end(pass)) return split_loop(first, last, std::move(carried), body);
  llvm::Value* rest = whole_loop(first, last, &carried, body);
  return emit_row_end(pass, rest, last, carried, end_body);
}

ir::Builder::Values KernelEmitter::emit_between(llvm::Value* i, llvm::Value* first,
                                                llvm::Value* last, const Values& carried,
                                                const ir::Builder::LoopBody& body,
                                                const std::function<Values()>& cut) {
  llvm::Value* zero = builder_.index(0);
  llvm::Value* lanes = builder_.index(builder_.lanes());
  llvm::Value* from = ir_.CreateSub(first, i);
  llvm::Value* to = ir_.CreateSub(last, i);
  return builder_.choose(
      ir_.CreateAnd(ir_.CreateICmpSLE(from, zero), ir_.CreateICmpSGE(to, lanes)),
      [&] {
        body_->set_active(nullptr);
        return body(i, carried);
      },
      [&] {
        if (cut) return cut();
        set_active_between(builder_.max(from, zero), builder_.min(to, lanes));
        return body(i, carried);
      });
}

ir::Builder::Values KernelEmitter::run_loop(const RowPlan::Stage& pass, llvm::Value* first,
                                            llvm::Value* last, const Values& carried,
                                            const ir::Builder::LoopBody& body) {
  const size_t dims = program_.reduced_rank - 1;
  // Of a row of no elements any extent may be 0: there is no run, but a division.
  auto extent = [&](size_t d) {
    llvm::Value* count = body_->extent(program_.outer_rank + static_cast<int>(d));
    return builder_.max(count, builder_.index(1));
  };
  llvm::Value* length = extent(dims);
  llvm::Value* lanes = builder_.index(builder_.lanes());
  // What nothing is summed of has no lanes of its own.
  const bool is_by_element =
      pass.reductions.empty() && pass.to_cache.empty() && !fusion::has_scans(program_);
  // Where the order is free a vector begins with the run. (What is cached is in whole vectors.)
  const bool is_free = fusion::takes_any_order(program_) && plan_.cached.empty();
  auto first_of_vector = [&](llvm::Value* i) {
    return is_free ? i : ir_.CreateAnd(i, ir_.CreateNeg(lanes));
  };
  const bool rotates = rotates_lanes(pass);
  // Carried as well: the indices of the run.
  Values indices(dims);
  llvm::Value* rest = ir_.CreateSDiv(first, length);
  llvm::Value* run_start = ir_.CreateMul(rest, length);
  for (size_t d = dims - 1; d > 0; --d) {
    llvm::Value* quotient = ir_.CreateSDiv(rest, extent(d));
    indices[d] = ir_.CreateSub(rest, ir_.CreateMul(quotient, extent(d)));
    rest = quotient;
  }
  indices[0] = rest;
  Values start = carried;
  start.insert(start.end(), indices.begin(), indices.end());
  auto emit_run = [&](llvm::Value* run, const Values& in) {
    Values index(in.end() - dims, in.end());
    body_->set_run(index, run);
    Values start_of_run = index;
    start_of_run.push_back(builder_.index(0));
    for (const uint16_t access : reads_along_rows(pass)) {
      prefetch_next_runs(access, body_->pointer_in_row(access, start_of_run), length);
    }
    llvm::Value* begin = builder_.max(run, first);
    llvm::Value* end = builder_.min(ir_.CreateAdd(run, length), last);
    auto emit_vector = [&](llvm::Value* i, const Values& before) {
      if (!has_row_end(pass)) return emit_between(i, begin, end, before, body);
      // The run has elements in the vector: it begins before the last lane's end.
      return emit_between(i, begin, end, before, body, [&] {
        return emit_cut_step(pass, i, builder_.max(begin, i),
                             builder_.min(end, ir_.CreateAdd(i, lanes)), before, body);
      });
    };
    const Values state(in.begin(), in.end() - dims);
    Values next = is_by_element ? step_loop(pass, begin, end, state, body, body)
                  : rotates     ? rotated_lanes(step_loop(pass, begin, end, state, body, body),
                                                ir_.CreateSub(end, begin))
                  : repeats_in_runs(pass)
                      ? lane_loop(begin, end, state, body, /*may_repeat=*/true)
                      : builder_.loop(first_of_vector(begin), end, lanes, state, emit_vector);
    llvm::Value* carry = ir_.getTrue();
    for (size_t d = dims; d-- > 0;) {
      index[d] = ir_.CreateAdd(index[d], ir_.CreateZExt(carry, ir_.getInt64Ty()));
      if (d == 0) break;
      carry = ir_.CreateICmpEQ(index[d], extent(d));
      index[d] = ir_.CreateSelect(carry, builder_.index(0), index[d]);
    }
    next.insert(next.end(), index.begin(), index.end());
    return next;
  };
  Values result = builder_.loop(run_start, last, length, start, emit_run);
  result.resize(carried.size());
  return result;
}

bool KernelEmitter::rotates_lanes(const RowPlan::Stage& pass) const {
  return has_row_end(pass) && !pass.reductions.empty() && plan_.cached.empty() &&
         !fusion::takes_any_order(program_) && !fusion::has_scans(program_) &&
         std::none_of(pass.reductions.begin(), pass.reductions.end(),
                      [&](ValueId id) { return is_arg_reduction(program_.body[id].op); });
}

ir::Builder::Values KernelEmitter::rotated_lanes(const Values& states, llvm::Value* count) {
  llvm::Value* by = ir_.CreateAnd(count, builder_.index(builder_.lanes() - 1));
  return builder_.choose(
      ir_.CreateICmpEQ(by, builder_.index(0)), [&] { return states; },
      [&] {
        Values rotated;
        for (llvm::Value* state : states) {
          llvm::Type* type = state->getType()->getScalarType();
          const llvm::Align align(type->getScalarSizeInBits() / 8);
          llvm::Value* twice = builder_.stack(llvm::ArrayType::get(type, 2 * builder_.lanes()));
          for (const int64_t at : {0, builder_.lanes()}) {
            ir_.CreateAlignedStore(state, ir_.CreateGEP(type, twice, builder_.index(at)), align);
          }
          rotated.push_back(
              ir_.CreateAlignedLoad(state->getType(), ir_.CreateGEP(type, twice, by), align));
        }
        return rotated;
      });
}

}  // namespace sluice::kernels
