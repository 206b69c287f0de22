#include "kernels/llvm/emit_kernel.h"

#include <algorithm>
#include <string>
#include <utility>

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
    if (program_.schedule == fusion::Schedule::kPointwise) {
      lanes_ahead_ = lanes_ahead();
      find_followers();
    }
    auto emit_all = [&] {
      emit_runs([&](const Values& outer, llvm::Value* first, llvm::Value* last, llvm::Value* row) {
        if (lanes_reduced())
          emit_row_run(outer, first, last, row);
        else
          emit_lane_run(outer, first, last, row);
      });
    };
    llvm::Value* are_flipped = body_->are_flipped();
    if (are_flipped == nullptr) return emit_all();
    auto emit_flipped = [&](bool are_flipped) {
      body_->set_flipped(are_flipped);
      emit_all();
    };
    builder_.if_then_else(
        are_flipped, [&] { emit_flipped(true); }, [&] { emit_flipped(false); });
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
  if (batches_rows()) return emit_row_batches(first, last);
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
    const auto body = [&](llvm::Value* i, const Values&) {
      body_->set_lane_start(i);
      emit_row(ir_.CreateAdd(row, ir_.CreateSub(i, first)));
      return Values{};
    };
    const bool turns = std::any_of(plan_.passes.begin(), plan_.passes.end(),
                                   [&](const RowPlan::Stage& pass) { return turns_leaves(pass); });
    turns ? split_loop(from, last, {}, body) : lane_loop(from, last, {}, body);
    body_->set_active(nullptr);
  };
  auto emit_wide = [&] {
    LaneScope wide(plan_.lanes);
    splat_operands();
    if (program_.schedule == fusion::Schedule::kPointwise) {
      if (program_.outer_rank > 1) {
        prefetch_picked_rows(program_.outer_rank - 2, 1, ir_.CreateSub(last, first));
      }
      return emit_ranges(first, last);
    }
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
  // Of few columns vectors side by side would be empty, mostly. Where masks are free, several
  // narrow vectors take longer than a wide one.
  const int most_narrow = host().masked_vectors ? lanes : plan_.lanes * 3 / 4;
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
      auto by_narrow_panels = [&] {
        LaneScope narrow(lanes);
        splat_operands();
        builder_.if_then_else(
            ir_.CreateICmpSGE(columns, builder_.index(lanes)),
            [&] { emit_panels(first, last, row); }, [&] { emit_vectors(first); });
      };
      if (plan_.passes.size() > 1) return by_narrow_panels();
      // In one pass, whose additions wait for each other, those of vectors side by side overlap.
      // Beyond the caches masks take longer.
      builder_.if_then_else(is_far(kCachedColumns), by_narrow_panels, [&] {
        LaneScope wide(plan_.lanes);
        splat_operands();
        emit_vectors(first);
      });
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
