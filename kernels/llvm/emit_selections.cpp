// Reductions that select: extremes, their positions, any() and all(). Positions along rows are
// found in two steps. Of a chunk of the row the extreme alone is found, and only if that is better
// than all before it, where it is: in the first element that equals it.
#include <algorithm>
#include <functional>
#include <vector>

#include "fusion/ir/any_order.h"
#include "fusion/ir/cost.h"
#include "fusion/ir/scan.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

using fusion::Op;
using fusion::ValueId;
using ir::LaneScope;

bool KernelEmitter::is_negated(const Instr& reduction) const {
  return reduction.op == Op::kMax && is_float(reduction.dtype) && !host().masked_vectors;
}

bool KernelEmitter::is_of_bytes(const Instr& reduction) const {
  return is_reduction(reduction.op) && !is_arg_reduction(reduction.op) &&
         reduction.dtype == DType::kBool && program_.body[reduction.operands[0]].op == Op::kLoad;
}

Op KernelEmitter::combining_op(ValueId reduction) const {
  const Op op = program_.body[reduction].op;
  if (is_of_bytes(reduction)) return op == Op::kAny || op == Op::kMax ? Op::kMax : Op::kMin;
  return is_negated(reduction) ? Op::kMin : op;
}

bool KernelEmitter::may_repeat(const RowPlan::Stage& pass) const {
  return pass.stores.empty() && pass.to_cache.empty() && !pass.reductions.empty() &&
         std::all_of(pass.reductions.begin(), pass.reductions.end(),
                     [&](ValueId id) { return fusion::may_repeat(program_.body[id]); }) &&
         std::none_of(pass.instrs.begin(), pass.instrs.end(),
                      [&](ValueId id) { return fusion::is_scan(program_.body[id].op); });
}

bool KernelEmitter::repeats_in_runs(const RowPlan::Stage& pass) const {
  return may_repeat(pass) &&
         (!host().masked_vectors ||
          std::all_of(pass.reductions.begin(), pass.reductions.end(),
                      [&](ValueId id) { return size_of(leaf_type_of(id)) > 1; }));
}

bool KernelEmitter::leaves_early(const RowPlan::Stage& pass) const {
  return !program_.one_leaf && may_repeat(pass) && pass.reductions.size() == 1 &&
         program_.body[pass.reductions[0]].dtype == DType::kBool &&
         !is_arg_reduction(program_.body[pass.reductions[0]].op) &&
         std::none_of(pass.instrs.begin(), pass.instrs.end(),
                      [&](ValueId id) { return program_.body[id].op == Op::kCheckIndex; });
}

ir::Builder::Values KernelEmitter::leaving_loop(const RowPlan::Stage& pass, llvm::Value* first,
                                                llvm::Value* last, const Values& start,
                                                const PartLoop& elements) {
  // So much is taken between questions; what is left of a row then passes without work.
  // Parts of runs may end anywhere, and cut vectors.
  constexpr int64_t kPart = 4096, kPartOfRuns = 16'384;
  llvm::Value* part = builder_.index(program_.reduced_rank == 1 ? kPart : kPartOfRuns);
  if (turns_runs(pass)) part = elements_of_turns(part);
  const Op op = combining_op(pass.reductions[0]);
  const bool is_any = op == Op::kMax || op == Op::kAny;
  return builder_.loop(first, last, part, start, [&](llvm::Value* begin, const Values& in) {
    llvm::Value* zero = llvm::Constant::getNullValue(in[0]->getType());
    llvm::Value* decides = is_any ? ir_.CreateICmpNE(in[0], zero) : ir_.CreateICmpEQ(in[0], zero);
    return builder_.choose(
        builder_.any(decides), [&] { return in; },
        [&] { return elements(begin, builder_.min(ir_.CreateAdd(begin, part), last), in); });
  });
}

bool KernelEmitter::searches_positions(const RowPlan::Stage& pass) const {
  // What a pass computes is computed again where it is searched.
  constexpr size_t kMaxInstrs = 8;
  if (!lanes_reduced() || program_.reduced_rank != 1) return false;
  if (pass.reductions.size() != 1 || !pass.stores.empty() || !plan_.cached.empty()) return false;
  const Instr& reduction = program_.body[pass.reductions[0]];
  return is_arg_reduction(reduction.op) && type_of(pass.reductions[0]) != DType::kBool &&
         !has_scans(program_) && pass.instrs.size() <= kMaxInstrs &&
         std::none_of(pass.instrs.begin(), pass.instrs.end(),
                      [&](ValueId id) { return fusion::is_costly(program_.body[id].op); });
}

KernelEmitter::Accumulators KernelEmitter::emit_searched_row(const RowPlan::Stage& pass,
                                                             llvm::Value* first,
                                                             llvm::Value* last) {
  constexpr int kVectors = 4;  // with what else a loop needs, as many as fit the registers
  constexpr int kMostOfOne = 16;
  const int vector = host().vector_bytes / static_cast<int>(size_of(type_of(pass.reductions[0])));
  const auto all = static_cast<int>(kLanes);
  llvm::Value* count = ir_.CreateSub(last, first);
  auto search_by = [&](int lanes, bool is_few, const std::function<Values()>& shorter) {
    return builder_.choose(
        ir_.CreateICmpSGE(count, builder_.index(lanes)),
        [&] {
          LaneScope wide(lanes);
          return flatten({find_extreme(pass, first, last, is_few)});
        },
        shorter);
  };
  auto of_one_leaf = [&] { return flatten(emit_leaf(pass, first, last)); };
  auto of_few = [&] {
    return search_by(std::min(vector, kMostOfOne), /*is_few=*/true, of_one_leaf);
  };
  return unflatten(pass.reductions, program_,
                   search_by(std::min(kVectors * vector, all), /*is_few=*/false, of_few));
}

KernelEmitter::ReductionState KernelEmitter::find_extreme(const RowPlan::Stage& pass,
                                                          llvm::Value* first, llvm::Value* last,
                                                          bool is_few) {
  using P = llvm::CmpInst::Predicate;
  const ValueId id = pass.reductions[0];
  const Op op = program_.body[id].op;
  const DType type = type_of(id);
  // On the average a half of a chunk is searched. Of short elements a vector has many.
  constexpr int64_t kBytes = 1024, kLeastElements = 256;
  const int64_t chunk = std::max(kLeastElements, kBytes / static_cast<int64_t>(size_of(type)));
  const bool is_max = op == Op::kArgMax;
  const bool of_floats = is_float(type);
  const int lanes = builder_.lanes();
  auto better = [&](llvm::Value* a, llvm::Value* b) {
    if (of_floats) return ir_.CreateFCmp(is_max ? P::FCMP_OGT : P::FCMP_OLT, a, b);
    const bool is_signed = kind_of(type) == DTypeKind::kSigned;
    if (is_max) return is_signed ? ir_.CreateICmpSGT(a, b) : ir_.CreateICmpUGT(a, b);
    return is_signed ? ir_.CreateICmpSLT(a, b) : ir_.CreateICmpULT(a, b);
  };
  auto best_of = [&](llvm::Value* a, llvm::Value* b) {
    return ir_.CreateSelect(better(a, b), a, b);
  };
  auto part = [&](llvm::Value* vector, int from, int count) {
    std::vector<int> places;
    for (int i = 0; i < count; ++i) places.push_back(from + i);
    return ir_.CreateShuffleVector(vector, places);
  };
  constexpr int64_t kMostFew = 64;
  llvm::Value* step = builder_.index(lanes);
  // A vector that ends with the row, or chunk, has elements that were taken before: these are no
  // better.
  llvm::Value* start_of_last = ir_.CreateSub(last, step);
  body_->set_active(nullptr);
  body_->splat_operands(pass.instrs, pass.stores);
  auto element_at = [&](llvm::Value* i) {
    emit_element(pass, i);
    return body_->value(program_.body[id].operands[0]);
  };
  const std::vector<uint16_t> streams = streams_of(pass);
  llvm::Value* are_far = streams.empty() ? nullptr : are_far_streams(streams);
  llvm::Value* worst = ir::emit_identity(op, type).value;
  // NaNs are told apart by comparing the two halves of a vector.
  llvm::Type* words = llvm::FixedVectorType::get(
      ir_.getIntNTy(8 * static_cast<unsigned>(size_of(type))), lanes / 2);
  Values lanes_start = {worst};
  if (of_floats) lanes_start.push_back(llvm::Constant::getNullValue(words));
  // The extreme of a chunk, NaN if there is one.
  auto extreme_of = [&](llvm::Value* begin, llvm::Value* end) {
    Values state =
        builder_.loop(begin, end, step, lanes_start, [&](llvm::Value* r, const Values& in) {
          if (are_far != nullptr) {
            builder_.if_then(are_far, /*likely=*/true, [&] { prefetch_streams(streams, r); });
          }
          llvm::Value* value = element_at(builder_.min(r, start_of_last));
          Values next = {best_of(value, in[0])};
          if (of_floats) {
            llvm::Value* unordered =
                ir_.CreateFCmpUNO(part(value, 0, lanes / 2), part(value, lanes / 2, lanes / 2));
            next.push_back(ir_.CreateOr(in[1], ir_.CreateSExt(unordered, words)));
          }
          return next;
        });
    llvm::Value* best = state[0];
    for (int half = lanes / 2; half > 1; half /= 2) {
      best = best_of(part(best, 0, half), part(best, half, half));
    }
    best = best_of(ir_.CreateExtractElement(best, uint64_t{0}),
                   ir_.CreateExtractElement(best, uint64_t{1}));
    if (!of_floats) return best;
    llvm::Type* bits = ir_.getIntNTy(words->getPrimitiveSizeInBits().getFixedValue());
    llvm::Value* has_nan =
        ir_.CreateICmpNE(ir_.CreateBitCast(state[1], bits), llvm::Constant::getNullValue(bits));
    return ir_.CreateSelect(has_nan, llvm::ConstantFP::getNaN(best->getType()), best);
  };
  // The first element from `begin` on for which `test` holds, as it does for one. Of few all are
  // asked: where to stop could not be foreseen.
  auto first_where = [&](llvm::Value* begin,
                         const std::function<llvm::Value*(llvm::Value*)>& test) {
    auto lanes_at = [&](llvm::Value* i) {
      return test(element_at(builder_.min(i, start_of_last)));
    };
    auto first_lane = [&](llvm::Value* found) {
      llvm::Value* bits = ir_.CreateBitCast(found, ir_.getIntNTy(lanes));
      bits = ir_.CreateZExtOrTrunc(bits, ir_.getInt64Ty());
      // The number of bits if there is none.
      return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, ir_.getFalse());
    };
    auto place = [&](llvm::Value* i, llvm::Value* found) {
      return ir_.CreateAdd(builder_.min(i, start_of_last), first_lane(found));
    };
    if (is_few) {
      const Values none = {ir_.CreateAdd(begin, builder_.index(kMostFew))};
      return builder_.loop(begin, last, step, none, [&](llvm::Value* i, const Values& in) {
        return Values{builder_.min(in[0], place(i, lanes_at(i)))};
      })[0];
    }
    llvm::Value* i =
        builder_.search(begin, step, [&](llvm::Value* r) { return builder_.any(lanes_at(r)); });
    return place(i, lanes_at(i));
  };
  auto position_of = [&](llvm::Value* extreme, llvm::Value* begin) -> llvm::Value* {
    llvm::Value* wanted = builder_.splat(extreme, lanes);
    if (!of_floats) {
      return first_where(begin, [&](llvm::Value* x) { return ir_.CreateICmpEQ(x, wanted); });
    }
    auto number = [&] {
      return first_where(begin, [&](llvm::Value* x) { return ir_.CreateFCmpOEQ(x, wanted); });
    };
    auto nan = [&] {
      return first_where(begin, [&](llvm::Value* x) { return ir_.CreateFCmpUNO(x, x); });
    };
    return builder_.choose(ir_.CreateFCmpORD(extreme, extreme), number, nan);
  };
  llvm::Value* start = nullptr;
  {
    LaneScope scalar(1);
    start = ir::emit_identity(op, type).value;
  }
  const Values result = builder_.loop(
      first, last, builder_.index(chunk), {start, first},
      [&](llvm::Value* begin, const Values& in) {
        llvm::Value* end = builder_.min(ir_.CreateAdd(begin, builder_.index(chunk)), last);
        llvm::Value* extreme = extreme_of(begin, end);
        llvm::Value* is_better = better(extreme, in[0]);
        if (of_floats) {
          // NaN is better than any number.
          is_better =
              ir_.CreateAnd(ir_.CreateFCmp(is_max ? P::FCMP_UGT : P::FCMP_ULT, extreme, in[0]),
                            ir_.CreateFCmpORD(in[0], in[0]));
        }
        return builder_.choose(
            is_better,
            [&] {
              return Values{extreme, position_of(extreme, begin)};
            },
            [&] { return in; });
      });
  return {result[0], result[1]};
}

}  // namespace sluice::kernels
