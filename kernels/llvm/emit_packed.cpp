// Pointwise kernels with packed rows (kernels/llvm/packed_plan.h).
#include <algorithm>
#include <optional>

#include "fusion/ir/packed_rows.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

using fusion::ValueId;
using ir::LaneScope;

void KernelEmitter::emit_packed() {
  const PackedPlan plan(program_, plan_.before[0].instrs, plan_.lanes);
  emit_runs(
      [&](const Values& outer, llvm::Value* first, llvm::Value* last, llvm::Value*) {
        body_->set_outer(outer);
        llvm::Value* points = builder_.index(plan.points);
        emit_packed_run(plan, ir_.CreateUDiv(first, points), ir_.CreateUDiv(last, points));
      },
      1 + program_.packed_rank);
}

void KernelEmitter::emit_packed_run(const PackedPlan& plan, llvm::Value* first, llvm::Value* last) {
  llvm::Value* zero = builder_.index(0);
  body_->set_packed_rows(&plan, zero);
  for (const ValueId id : plan.run) body_->emit(id);
  LaneScope wide(plan.lanes);
  body_->splat_operands(plan_.before[0].instrs, plan_.before[0].stores);
  PackedColumns columns(plan.vectors);
  for (int v = 0; v < plan.vectors; ++v) {
    body_->set_packed_points(&plan, zero, v, /*windows=*/false);
    if (plan.by_row) set_active_in_row(plan, v);
    for (const ValueId id : plan.columns) {
      body_->emit(id);
      columns[v].push_back(body_->value(id));
    }
    for (const ValueId id : plan.both) {
      const fusion::Instr& instr = program_.body[id];
      if (instr.op == fusion::Op::kGather && plan.by_row) prepare_chooser(instr);
      if (instr.op != fusion::Op::kLoad || instr.num_operands == 0) continue;
      const auto& in_row = plan.columns;
      if (std::find(in_row.begin(), in_row.end(), instr.operands[0]) != in_row.end()) {
        body_->prepare_predicate(instr.operands[0]);
      }
    }
  }
  llvm::Value* rows = body_->extent(program_.packed_row_dim());
  llvm::Value* lanes = builder_.index(plan.lanes);
  builder_.loop(
      first, last, builder_.index(plan.block_rows()), {}, [&](llvm::Value* row, const Values&) {
        llvm::Value* is_whole =
            plan.by_row ? ir_.getTrue() : ir_.CreateICmpSLE(ir_.CreateAdd(row, lanes), last);
        if (plan.rows_after > 0) {
          llvm::Value* after = ir_.CreateAdd(row, builder_.index(plan.rows_after));
          is_whole = ir_.CreateAnd(is_whole, ir_.CreateICmpSLE(after, rows));
          llvm::Value* is_after = ir_.CreateICmpSGE(row, builder_.index(plan.rows_before));
          is_whole = ir_.CreateAnd(is_whole, is_after);
        }
        auto emit_whole = [&] {
          emit_packed_block(plan, columns, row, nullptr, /*windows=*/plan.rows_after > 0);
        };
        if (plan.by_row && plan.rows_after == 0) {
          emit_whole();
          return Values{};
        }
        builder_.if_then_else(is_whole, emit_whole, [&] {
          llvm::Value* left = builder_.min(ir_.CreateSub(last, row), lanes);
          llvm::Value* count = plan.by_row ? nullptr : left;
          emit_packed_block(plan, columns, row, count, /*windows=*/false);
        });
        return Values{};
      });
  body_->set_active(nullptr);
}

void KernelEmitter::prepare_chooser(const fusion::Instr& gather) {
  const std::vector<fusion::Variation> variation = fusion::find_variation(program_);
  if (!variation[gather.operands[0]].in_row) return;
  const std::optional<ValueId> chooser =
      fusion::chooser_of(program_, variation, gather.operands[0]);
  body_->prepare_predicate(*chooser);
  body_->prepare_predicate(*chooser, /*otherwise=*/true);
}

void KernelEmitter::set_active_in_row(const PackedPlan& plan, int v) {
  const int count = std::min(plan.points - plan.first_of(v), plan.lanes);
  if (count == plan.lanes) return body_->set_active(nullptr);
  body_->set_active(builder_.lanes_below(builder_.index(count)), ir_.getInt32(count));
}

void KernelEmitter::emit_packed_block(const PackedPlan& plan, const PackedColumns& columns,
                                      llvm::Value* row, llvm::Value* count, bool windows) {
  llvm::Type* word = ir_.getInt32Ty();
  // Lanes of which the sum of number and `before` is below `end`.
  auto set_active = [&](int before, llvm::Value* end) {
    if (count == nullptr) return body_->set_active(nullptr);
    llvm::Value* number =
        ir_.CreateAdd(builder_.iota(word), builder_.splat(ir_.getInt32(before), plan.lanes));
    llvm::Value* bound = builder_.splat(ir_.CreateTrunc(end, word), plan.lanes);
    body_->set_active(ir_.CreateICmpULT(number, bound));
  };
  body_->set_packed_rows(&plan, row);
  set_active(0, count);
  Values rows;
  {
    LaneScope scope(plan.by_row ? 1 : plan.lanes);
    for (const ValueId id : plan.rows) {
      body_->emit(id);
      rows.push_back(body_->value(id));
    }
  }
  for (const ValueId id : plan.both) {
    if (plan.interleaved[id]) body_->load_columns(id);
  }
  llvm::Value* points =
      count == nullptr ? nullptr : ir_.CreateMul(count, builder_.index(plan.points));
  const std::vector<fusion::Store>& stores = plan_.before[0].stores;
  Values waiting;
  auto store_all = [&](const Values& values) {
    for (size_t k = 0; k < stores.size(); ++k) {
      body_->emit_store(stores[k], values[k]);
    }
  };
  for (int v = 0; v < plan.vectors; ++v) {
    body_->set_packed_points(&plan, row, v, windows);
    plan.by_row ? set_active_in_row(plan, v) : set_active(v * plan.lanes, points);
    for (size_t k = 0; k < plan.columns.size(); ++k) {
      body_->set_value(plan.columns[k], columns[v][k]);
    }
    std::vector<int> row_of_lane;
    for (int lane = 0; lane < plan.lanes; ++lane) row_of_lane.push_back(plan.row_of(v, lane));
    for (size_t k = 0; k < plan.rows.size(); ++k) {
      llvm::Value* spread = plan.by_row ? rows[k] : ir_.CreateShuffleVector(rows[k], row_of_lane);
      body_->set_value(plan.rows[k], spread);
    }
    for (const ValueId id : plan.both) body_->emit(id);
    // What is stored may be where the next vector reads.
    const bool waits = plan.overlaps && v == plan.vectors - 2;
    if (waits) {
      for (const fusion::Store& store : stores) waiting.push_back(body_->value(store.value));
      continue;
    }
    if (!waiting.empty()) {
      Values last;
      for (const fusion::Store& store : stores) last.push_back(body_->value(store.value));
      body_->set_packed_points(&plan, row, v - 1, /*windows=*/false);
      store_all(waiting);
      body_->set_packed_points(&plan, row, v, /*windows=*/false);
      store_all(last);
      continue;
    }
    for (const fusion::Store& store : stores) body_->emit_store(store);
  }
}

}  // namespace sluice::kernels
