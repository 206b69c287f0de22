#include "kernels/llvm/emit_kernel.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "fusion/ir/any_order.h"
#include "fusion/ir/scan.h"
#include "kernels/compiled/symbols.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

using fusion::Program;
using fusion::ValueId;
using ir::LaneScope;

KernelEmitter::KernelEmitter(const Program& program, const RowPlan& plan, Entry entry,
                             llvm::Module& module)
    : program_(program),
      plan_(plan),
      entry_(entry),
      builder_(module.getContext()),
      ir_(*builder_),
      function_(declare(module)),
      args_block_(llvm::BasicBlock::Create(module.getContext(), "args", function_)) {
  body_.emplace(program, args_block_, argument(1));
  row_begin_ = argument(2);
  row_end_ = argument(3);
}

llvm::Function* KernelEmitter::declare(llvm::Module& module) const {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* word = llvm::Type::getInt64Ty(context);
  std::vector<llvm::Type*> types = {pointer, pointer, word, word};
  const char* name = kRowsName;
  if (entry_ == Entry::kBlock) {
    types.insert(types.end(), {word, word, pointer});
    name = kBlockName;
  } else if (entry_ == Entry::kFinish) {
    types.insert(types.end(), {word, pointer, word});
    name = kFinishName;
  }
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, /*isVarArg=*/false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("target-cpu", host().cpu);
  function->addFnAttr("target-features", host().features);
  function->addFnAttr("prefer-vector-width", std::to_string(8 * host().vector_bytes));
  function->addFnAttr("no-trapping-math", "true");
  return function;
}

void KernelEmitter::emit() {
  auto* start = llvm::BasicBlock::Create(ir_.getContext(), "start", function_);
  ir_.SetInsertPoint(start);
  reduced_extent_ = builder_.index(1);
  for (int d = program_.outer_rank; d < program_.rank(); ++d) {
    reduced_extent_ = ir_.CreateMul(reduced_extent_, body_->extent(d));
  }
  // An empty range must read nothing and raise no error.
  builder_.if_then(ir_.CreateICmpSLT(row_begin_, row_end_), /*likely=*/true, [&] {
    for (const ValueId id : plan_.uniform) body_->emit(id);
    allocate_row_cache();
    if (program_.tiled && program_.reduced_rank == 0) return emit_tiles();
    if (packing_of(program_) != Packing::kNone) return emit_packed();
    emit_runs([&](const Values& outer, llvm::Value* first, llvm::Value* last, llvm::Value* row) {
      if (lanes_reduced())
        emit_row_run(outer, first, last, row);
      else
        emit_lane_run(outer, first, last, row);
    });
  });
  if (program_.nontemporal) builder_.fence_nontemporal_stores();
  ir_.CreateRetVoid();
  builder_.end_function();
  llvm::BranchInst::Create(start, args_block_);
}

llvm::Value* KernelEmitter::call_thread_buffer(llvm::Value* bytes) {
  auto* type = llvm::FunctionType::get(ir_.getPtrTy(), {ir_.getInt64Ty()}, /*isVarArg=*/false);
  return ir_.CreateCall(builder_.host_function(kThreadBufferName, type), {bytes});
}

void KernelEmitter::emit_runs(const RunBody& body, int lane_dims) {
  const int rank_before_lanes = program_.outer_rank - lane_dims;
  if (rank_before_lanes == 0) {
    body({}, row_begin_, row_end_, builder_.index(0));
    return;
  }
  // Carried: the first point's index in the run, then the outer indices.
  llvm::Value* length = body_->extent(rank_before_lanes);
  for (int d = rank_before_lanes + 1; d < program_.outer_rank; ++d) {
    length = ir_.CreateMul(length, body_->extent(d));
  }
  llvm::Value* rest = ir_.CreateSDiv(row_begin_, length);
  Values start(1 + rank_before_lanes);
  start[0] = ir_.CreateSub(row_begin_, ir_.CreateMul(rest, length));
  for (int d = rank_before_lanes - 1; d > 0; --d) {
    llvm::Value* quotient = ir_.CreateSDiv(rest, body_->extent(d));
    start[1 + d] = ir_.CreateSub(rest, ir_.CreateMul(quotient, body_->extent(d)));
    rest = quotient;
  }
  start[1] = rest;
  // Points are counted so that a run always ends where `position` is a multiple of its length: the
  // loop advances to the next run's start, which may lie past the end.
  llvm::Value* run_start = ir_.CreateSub(row_begin_, start[0]);
  builder_.loop(run_start, row_end_, length, start, [&](llvm::Value* position, const Values& in) {
    llvm::Value* last = builder_.min(ir_.CreateSub(row_end_, position), length);
    const Values outer(in.begin() + 1, in.end());
    body(outer, in[0], last, ir_.CreateSub(ir_.CreateAdd(position, in[0]), row_begin_));
    Values next = in;
    next[0] = builder_.index(0);
    llvm::Value* carry = ir_.getTrue();
    for (int d = rank_before_lanes - 1; d >= 0; --d) {
      llvm::Value* advanced = ir_.CreateAdd(in[1 + d], ir_.CreateZExt(carry, ir_.getInt64Ty()));
      if (d > 0) {
        carry = ir_.CreateICmpEQ(advanced, body_->extent(d));
        advanced = ir_.CreateSelect(carry, builder_.index(0), advanced);
      }
      next[1 + d] = advanced;
    }
    return next;
  });
}

void KernelEmitter::emit_row_run(const Values& outer, llvm::Value* first, llvm::Value* last,
                                 llvm::Value* row) {
  body_->set_outer(outer);
  if (has_panels()) return emit_panels(first, last, row);
  if (rows_of_group() > 1) return emit_row_groups(first, last, row);
  builder_.loop(first, last, builder_.index(1), {}, [&](llvm::Value* i, const Values&) {
    body_->set_row(i);
    emit_row(ir_.CreateAdd(row, ir_.CreateSub(i, first)));
    return Values{};
  });
}

void KernelEmitter::emit_lane_run(const Values& outer, llvm::Value* first, llvm::Value* last,
                                  llvm::Value* row) {
  body_->set_outer(outer);
  for (const ValueId id : plan_.invariant) body_->emit(id);
  auto splat_operands = [&] {
    for (const auto* stages : {&plan_.before, &plan_.passes}) {
      for (const RowPlan::Stage& stage : *stages) body_->splat_operands(stage.instrs, stage.stores);
    }
  };
  auto emit_vectors = [&](llvm::Value* from) {
    lane_loop(from, last, {}, [&](llvm::Value* i, const Values&) {
      body_->set_lane_start(i);
      emit_row(ir_.CreateAdd(row, ir_.CreateSub(i, first)));
      return Values{};
    });
    body_->set_active(nullptr);
  };
  auto emit_wide = [&] {
    LaneScope wide(plan_.lanes);
    splat_operands();
    if (program_.schedule == fusion::Schedule::kPointwise) return emit_ranges(first, last);
    if (overlaps_columns()) return emit_panels(first, last, row);
    llvm::Value* rest = first;  // of what panels leave
    if (has_panels() || has_panels_across_rows()) {
      const bool takes_all = host().masked_vectors && has_panels();
      llvm::Value* whole = ir_.CreateAnd(ir_.CreateSub(last, first), -int64_t{plan_.lanes});
      rest = takes_all ? last : ir_.CreateAdd(first, whole);
      has_panels() ? emit_panels(first, rest, row) : emit_panels_across_rows(first, rest, row);
      if (takes_all) return;
    }
    emit_vectors(rest);
  };
  const bool scans = std::any_of(plan_.passes.begin(), plan_.passes.end(),
                                 [&](const RowPlan::Stage& pass) { return scans_columns(pass); });
  llvm::Value* columns = ir_.CreateSub(last, first);
  const int lanes = plan_.lanes / kNarrowPart;
  // Of few columns vectors side by side would be empty, mostly.
  const int most_narrow = plan_.lanes * 3 / 4;
  const bool has_narrow_vectors = program_.schedule == fusion::Schedule::kColumn &&
                                  (plan_.passes.size() > 1 || entry_ == Entry::kFinish) &&
                                  !program_.tiled && plan_.lanes >= 4 * kNarrowPart;
  auto emit_many = [&] {
    if (!overlaps_columns()) {
      if (!has_narrow_vectors) return emit_wide();
      auto emit_narrow = [&] {
        LaneScope narrow(lanes);
        splat_operands();
        emit_vectors(first);
      };
      return builder_.if_then_else(ir_.CreateICmpSLE(columns, builder_.index(most_narrow)),
                                   emit_narrow, emit_wide);
    }
    auto emit_some = [&] {
      // In one pass, whose additions wait for each other, those of vectors side by side overlap.
      const bool is_one_pass = plan_.passes.size() == 1;
      LaneScope some(is_one_pass ? plan_.lanes : lanes);
      splat_operands();
      if (is_one_pass) return emit_vectors(first);
      builder_.if_then_else(
          ir_.CreateICmpSGE(columns, builder_.index(lanes)), [&] { emit_panels(first, last, row); },
          [&] { emit_vectors(first); });
    };
    builder_.if_then_else(ir_.CreateICmpSGE(columns, builder_.index(plan_.lanes)), emit_wide,
                          emit_some);
  };
  if (!has_narrow_panel() && !(scans && fits_narrow_lanes())) return emit_many();
  auto emit_few = [&] {
    LaneScope narrow(lanes);
    splat_operands();
    scans ? emit_vectors(first) : emit_narrow_panel(first, last, row);
  };
  builder_.if_then_else(ir_.CreateICmpSLE(columns, builder_.index(lanes)), emit_few, emit_many);
}

void KernelEmitter::set_active_below(llvm::Value* i, llvm::Value* last) {
  llvm::Value* left = builder_.min(ir_.CreateSub(last, i), builder_.index(builder_.lanes()));
  body_->set_active(builder_.lanes_below(left), ir_.CreateTrunc(left, ir_.getInt32Ty()));
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

llvm::Value* KernelEmitter::whole_loop(llvm::Value* first, llvm::Value* last, Values* carried,
                                       const ir::Builder::LoopBody& body) {
  llvm::Value* whole = ir_.CreateAnd(ir_.CreateSub(last, first), -int64_t{builder_.lanes()});
  llvm::Value* rest = ir_.CreateAdd(first, whole);
  body_->set_active(nullptr);
  *carried = builder_.loop(first, rest, builder_.index(builder_.lanes()), *carried, body);
  return rest;
}

ir::Builder::Values KernelEmitter::split_loop(llvm::Value* first, llvm::Value* last, Values carried,
                                              const ir::Builder::LoopBody& body) {
  llvm::Value* rest = whole_loop(first, last, &carried, body);
  return masked_loop(rest, last, carried, body);
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
  return masked_loop(rest, last, after, body);
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

void KernelEmitter::emit_stage(const RowPlan::Stage& stage) {
  for (const ValueId id : stage.instrs) body_->emit(id);
  // Row-level stores of a split row belong to `finish`.
  if (entry_ == Entry::kBlock) return;
  for (const fusion::Store& store : stage.stores) body_->emit_store(store);
}

std::pair<llvm::Value*, llvm::Value*> KernelEmitter::element_range() {
  if (entry_ == Entry::kBlock) return {argument(4), argument(5)};
  return {builder_.index(0), reduced_extent_};
}

void KernelEmitter::emit_after_pass(size_t p, const Accumulators& totals) {
  for (size_t k = 0; k < totals.size(); ++k) {
    const ValueId id = plan_.passes[p].reductions[k];
    body_->set_value(id, finished(program_.body[id], totals[k]));
  }
  emit_stage(plan_.before[p + 1]);
}

void KernelEmitter::emit_row(llvm::Value* row) {
  emit_stage(plan_.before[0]);
  for (size_t p = 0; p < plan_.passes.size(); ++p) {
    const RowPlan::Stage& pass = plan_.passes[p];
    if (entry_ == Entry::kBlock) return store_partials(emit_pass(pass), row);
    emit_after_pass(p, entry_ == Entry::kFinish && p == 0 ? load_partials(row) : emit_pass(pass));
  }
}

void emit_kernel(const Program& program, llvm::Module& module) {
  KernelEmitter(program, RowPlan(program, program.caches_rows), Entry::kRows, module).emit();
  const RowPlan plan(program, /*caches=*/false);
  if (!plan.splits_rows || program.one_leaf) return;
  KernelEmitter(program, plan, Entry::kBlock, module).emit();
  KernelEmitter(program, plan, Entry::kFinish, module).emit();
}

}  // namespace sluice::kernels
