// Pointwise kernels with packed rows (kernels/llvm/packed_plan.h).
#include <algorithm>
#include <optional>
#include <utility>

#include "fusion/ir/packed_rows.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

using fusion::ValueId;
using ir::LaneScope;

namespace {

// Of many rows under a condition, so many are asked for at once, with those around them, between
// which all may be read.
constexpr int64_t kManyRows = 64, kRowsAtOnce = 16;

}  // namespace

void KernelEmitter::emit_packed() {
  const PackedPlan plan(program_, plan_.before[0].instrs, plan_.lanes);
  emit_runs(
      [&](const Values& outer, llvm::Value* first, llvm::Value* last, llvm::Value*) {
        body_->set_outer(outer);
        llvm::Value* points = builder_.index(plan.points);
        emit_packed_run(plan, outer, ir_.CreateUDiv(first, points), ir_.CreateUDiv(last, points));
      },
      1 + program_.packed_rank);
}

void KernelEmitter::emit_packed_run(const PackedPlan& plan, const Values& outer, llvm::Value* first,
                                    llvm::Value* last) {
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
    if (!host().masked_vectors) continue;
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
  const Values wanted = find_wanted(plan, columns);
  hold_conditions(plan, &columns);
  llvm::Value* readable = ir_.getTrue();
  for (llvm::Value* any : wanted) readable = ir_.CreateAnd(readable, any);
  if (plan.row_condition) {
    return plan.by_row ? emit_rows_under_condition(plan, columns, first, last, readable)
                       : emit_blocks_under_condition(plan, columns, first, last, readable);
  }
  emit_packed_blocks(plan, columns, outer, first, last, wanted.empty() ? nullptr : readable);
  body_->set_active(nullptr);
}

void KernelEmitter::emit_packed_blocks(const PackedPlan& plan, const PackedColumns& columns,
                                       const Values& outer, llvm::Value* first, llvm::Value* last,
                                       llvm::Value* readable) {
  const bool has_windows = readable != nullptr;
  llvm::Value* zero = builder_.index(0);
  llvm::Value* step = builder_.index(plan.block_rows());
  auto emit_blocks = [&](llvm::Value* begin, llvm::Value* end,
                         const std::function<void(llvm::Value*)>& emit_block) {
    builder_.loop(begin, end, step, {}, [&](llvm::Value* row, const Values&) {
      emit_block(row);
      return Values{};
    });
  };
  auto emit_whole = [&](llvm::Value* row) {
    emit_packed_block(plan, columns, row, nullptr, has_windows, Outcomes(program_));
  };
  llvm::Value* one = builder_.index(1);
  llvm::Value* lanes = plan.by_row ? one : builder_.index(plan.lanes);
  auto emit_other = [&](llvm::Value* row) {
    llvm::Value* count = plan.by_row ? nullptr : builder_.min(ir_.CreateSub(last, row), lanes);
    emit_packed_block(plan, columns, row, count, /*windows=*/false, Outcomes(program_));
  };
  if (plan.by_row && !has_windows) return emit_blocks(first, last, emit_whole);
  // Whole blocks, which are far enough from the ends of the rows, begin at rows of [begin, end).
  llvm::Value* begin = first;
  llvm::Value* end = ir_.CreateSub(last, ir_.CreateSub(lanes, one));
  if (has_windows) {
    const auto [before, after] = rows_around(plan);
    llvm::Value* rows = body_->extent(program_.packed_row_dim());
    begin = builder_.max(begin, before);
    end = builder_.min(end, ir_.CreateAdd(ir_.CreateSub(rows, after), one));
    end = ir_.CreateSelect(readable, end, begin);
  }
  if (program_.short_runs) {
    llvm::Value* length = builder_.max(ir_.CreateSub(end, begin), zero);
    auto emit_all = [&] {
      emit_blocks(first, last, [&](llvm::Value* row) {
        builder_.if_then_else(
            ir_.CreateICmpULT(ir_.CreateSub(row, begin), length), [&] { emit_whole(row); },
            [&] { emit_other(row); });
      });
    };
    llvm::Value* has_neighbours = has_windows ? has_runs_around(plan, outer) : nullptr;
    if (has_neighbours == nullptr) {
      emit_all();
    } else {
      builder_.if_then_else(
          has_neighbours,
          [&] {
            emit_blocks(first, last, [&](llvm::Value* row) {
              builder_.if_then_else(
                  ir_.CreateICmpSLE(ir_.CreateAdd(row, lanes), last), [&] { emit_whole(row); },
                  [&] {
                    emit_packed_block(plan, columns, row, ir_.CreateSub(last, row),
                                      /*windows=*/true, Outcomes(program_));
                  });
            });
          },
          emit_all);
    }
  } else {
    auto round_up = [&](llvm::Value* rows) {
      return ir_.CreateMul(builder_.ceil_div(builder_.max(rows, zero), step), step);
    };
    begin = builder_.min(ir_.CreateAdd(first, round_up(ir_.CreateSub(begin, first))), last);
    end = ir_.CreateAdd(begin, round_up(ir_.CreateSub(end, begin)));
    emit_parts(
        first, begin, end, last,
        [&](llvm::Value* from, llvm::Value* to) { emit_blocks(from, to, emit_whole); },
        [&](llvm::Value* from, llvm::Value* to) { emit_blocks(from, to, emit_other); });
  }
}

llvm::Value* KernelEmitter::has_runs_around(const PackedPlan& plan, const Values& outer) {
  if (outer.empty() || plan.by_row || !host().masked_vectors) return nullptr;
  const int dim = program_.packed_row_dim() - 1;
  llvm::Value* rows = body_->extent(dim + 1);
  llvm::Value* result = ir_.getTrue();
  for (const ValueId id : plan.both) {
    if (!plan.windows[id]) continue;
    const fusion::Instr& instr = program_.body[id];
    // Under a condition a run may be nowhere.
    if (instr.op != fusion::Op::kLoad || instr.num_operands > 0) return nullptr;
    const int64_t row_stride = program_.accesses[instr.aux].row_stride;
    if (row_stride < 0) return nullptr;
    llvm::Value* stride = body_->stride(instr.aux, dim);
    auto runs_of = [&](llvm::Value* of_rows) {
      llvm::Value* elements = ir_.CreateMul(of_rows, builder_.index(row_stride));
      return builder_.ceil_div(elements, builder_.max(stride, builder_.index(1)));
    };
    llvm::Value* before = runs_of(builder_.index(plan.rows_before));
    llvm::Value* after = runs_of(ir_.CreateAdd(rows, builder_.index(plan.rows_after)));
    llvm::Value* last_run = ir_.CreateAdd(outer.back(), after);
    result = ir_.CreateAnd(result, ir_.CreateICmpSGT(stride, builder_.index(0)));
    result = ir_.CreateAnd(result, ir_.CreateICmpSGE(outer.back(), before));
    result = ir_.CreateAnd(result, ir_.CreateICmpSLT(last_run, body_->extent(dim)));
  }
  return result;
}

// What is read in windows must be wanted at some point of each row, else the row may be nowhere.
KernelEmitter::Values KernelEmitter::find_wanted(const PackedPlan& plan,
                                                 const PackedColumns& columns) {
  Values wanted;
  for (const ValueId id : plan.both) {
    if (!plan.windows[id]) continue;
    const ValueId condition = plan.conditions[id];
    if (condition == fusion::kNoValue) {
      wanted.push_back(ir_.getTrue());
      continue;
    }
    const auto at = std::find(plan.columns.begin(), plan.columns.end(), condition);
    if (at == plan.columns.end()) {
      wanted.push_back(body_->scalar(condition));
      continue;
    }
    llvm::Value* any = ir_.getFalse();
    llvm::Value* any_other = ir_.getFalse();
    for (const Values& of_vector : columns) {
      llvm::Value* holds = of_vector[at - plan.columns.begin()];
      any = ir_.CreateOr(any, builder_.any(holds));
      any_other = ir_.CreateOr(any_other, builder_.any(ir_.CreateNot(holds)));
    }
    wanted.push_back(any);
    if (program_.body[id].op == fusion::Op::kGather) wanted.push_back(any_other);
  }
  return wanted;
}

// Without masks in registers of their own a condition is kept as wide as what it selects.
void KernelEmitter::hold_conditions(const PackedPlan& plan, PackedColumns* columns) {
  if (host().masked_vectors) return;
  const DType dtype = program_.accesses[program_.stores[0].access].dtype;
  const DType held = moves_halves(program_) ? dtype : compute_type(dtype);
  constexpr int kBitsOfByte = 8;
  llvm::Type* integer = ir_.getIntNTy(kBitsOfByte * static_cast<int>(size_of(held)));
  for (Values& of_vector : *columns) {
    for (size_t k = 0; k < plan.columns.size(); ++k) {
      if (program_.body[plan.columns[k]].dtype != DType::kBool) continue;
      of_vector[k] = ir_.CreateSExt(of_vector[k], builder_.with_lanes(integer));
    }
  }
}

std::pair<llvm::Value*, llvm::Value*> KernelEmitter::rows_around(const PackedPlan& plan) {
  if (!plan.by_row) return {builder_.index(plan.rows_before), builder_.index(plan.rows_after)};
  // Of each row some point is wanted, which is less than a row away from what else is read.
  constexpr int64_t kNever = int64_t{1} << 40;
  llvm::Value* before = builder_.index(0);
  for (const ValueId id : plan.both) {
    if (!plan.windows[id]) continue;
    const uint16_t access = program_.body[id].aux;
    const int count = plan.reach_of(program_, program_.accesses[access]).count;
    llvm::Value* stride = body_->stride(access, program_.packed_row_dim());
    llvm::Value* distance = builder_.magnitude(stride);
    llvm::Value* none = ir_.CreateICmpEQ(distance, builder_.index(0));
    distance = builder_.max(distance, builder_.index(1));
    llvm::Value* rounded = ir_.CreateAdd(builder_.index(count - 1), distance);
    llvm::Value* rows = ir_.CreateUDiv(rounded, distance);
    before = builder_.max(before, ir_.CreateSelect(none, builder_.index(kNever), rows));
  }
  return {before, ir_.CreateAdd(before, builder_.index(1))};
}

void KernelEmitter::emit_rows_under_condition(const PackedPlan& plan, const PackedColumns& columns,
                                              llvm::Value* first, llvm::Value* last,
                                              llvm::Value* readable) {
  auto emit_one_by_one = [&] {
    builder_.loop(first, last, builder_.index(1), {}, [&](llvm::Value* row, const Values&) {
      emit_row_under_condition(plan, columns, row, readable);
      return Values{};
    });
  };
  if (plan.row_bounds.empty()) {
    emit_one_by_one();
  } else {
    llvm::Value* rows = ir_.CreateSub(last, first);
    llvm::Value* are_many = ir_.CreateICmpSGE(rows, builder_.index(kManyRows));
    builder_.if_then_else(
        ir_.CreateAnd(are_many, readable),
        [&] { emit_many_under_condition(plan, columns, first, last); }, emit_one_by_one);
  }
  body_->set_active(nullptr);
}

llvm::Value* KernelEmitter::condition_holds(const PackedPlan& plan, llvm::Value* first,
                                            llvm::Value* last) {
  auto holds_at = [&](llvm::Value* row) {
    LaneScope scalar(1);
    body_->set_packed_rows(&plan, row);
    for (const ValueId id : plan.row_bounds) body_->emit(id);
    return body_->scalar(*plan.row_condition);
  };
  // The condition says nothing about rows that there are not, where rows are not padded.
  llvm::Value* rows = body_->extent(program_.packed_row_dim());
  llvm::Value* are_there =
      ir_.CreateAnd(ir_.CreateICmpSGE(first, builder_.index(0)), ir_.CreateICmpSLT(last, rows));
  return ir_.CreateAnd(are_there, ir_.CreateAnd(holds_at(first), holds_at(last)));
}

void KernelEmitter::emit_blocks_under_condition(const PackedPlan& plan,
                                                const PackedColumns& columns, llvm::Value* first,
                                                llvm::Value* last, llvm::Value* readable) {
  const auto [before, after] = rows_around(plan);
  llvm::Value* lanes = builder_.index(plan.lanes);
  Outcomes if_true(program_);
  if_true.learn(*plan.row_condition, true);
  builder_.loop(first, last, lanes, {}, [&](llvm::Value* row, const Values&) {
    llvm::Value* is_whole = ir_.CreateICmpSLE(ir_.CreateAdd(row, lanes), last);
    llvm::Value* last_of_block = builder_.max(after, ir_.CreateSub(lanes, builder_.index(1)));
    llvm::Value* all_hold =
        condition_holds(plan, ir_.CreateSub(row, before), ir_.CreateAdd(row, last_of_block));
    builder_.if_then_else(
        ir_.CreateAnd(ir_.CreateAnd(is_whole, readable), all_hold),
        [&] { emit_packed_block(plan, columns, row, nullptr, /*windows=*/true, if_true); },
        [&] {
          emit_packed_block(plan, columns, row, builder_.min(ir_.CreateSub(last, row), lanes),
                            /*windows=*/false, Outcomes(program_));
        });
    return Values{};
  });
  body_->set_active(nullptr);
}

void KernelEmitter::emit_many_under_condition(const PackedPlan& plan, const PackedColumns& columns,
                                              llvm::Value* first, llvm::Value* last) {
  llvm::Value* one = builder_.index(1);
  const auto [before, after] = rows_around(plan);
  Outcomes if_true(program_);
  if_true.learn(*plan.row_condition, true);
  builder_.walk(first, last, [&](llvm::Value* row) {
    llvm::Value* end = ir_.CreateAdd(row, builder_.index(kRowsAtOnce));
    llvm::Value* all_hold =
        ir_.CreateAnd(ir_.CreateICmpSLE(end, last),
                      condition_holds(plan, ir_.CreateSub(row, before), ir_.CreateAdd(end, after)));
    builder_.if_then_else(
        all_hold,
        [&] {
          builder_.loop(row, end, one, {}, [&](llvm::Value* r, const Values&) {
            emit_packed_block(plan, columns, r, nullptr, /*windows=*/true, if_true);
            return Values{};
          });
        },
        [&] { emit_row_under_condition(plan, columns, row, ir_.getTrue()); });
    return ir_.CreateSelect(all_hold, end, ir_.CreateAdd(row, one));
  });
}

void KernelEmitter::emit_row_under_condition(const PackedPlan& plan, const PackedColumns& columns,
                                             llvm::Value* row, llvm::Value* readable) {
  const ValueId condition = *plan.row_condition;
  Outcomes if_true(program_), if_false(program_);
  if_true.learn(condition, true);
  if_false.learn(condition, false);
  body_->set_packed_rows(&plan, row);
  {
    LaneScope scope(1);
    for (const ValueId id : plan.rows) body_->emit(id);
  }
  llvm::Value* is_whole = ir_.CreateAnd(readable, body_->reads_one_page());
  builder_.if_then_else(
      body_->scalar(condition),
      [&] {
        builder_.if_then_else(
            is_whole,
            [&] { emit_packed_block(plan, columns, row, nullptr, /*windows=*/true, if_true); },
            [&] { emit_packed_block(plan, columns, row, nullptr, /*windows=*/false, if_true); });
      },
      [&] { emit_packed_block(plan, columns, row, nullptr, /*windows=*/false, if_false); });
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
                                      llvm::Value* row, llvm::Value* count, bool windows,
                                      const Outcomes& known) {
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
  prefetch_picked_rows(program_.packed_row_dim(), plan.block_rows(), builder_.index(plan.points));
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
      llvm::Value* value = columns[v][k];
      const bool is_held = program_.body[plan.columns[k]].dtype == DType::kBool &&
                           value->getType()->getScalarSizeInBits() > 1;  // hold_conditions()
      llvm::Constant* zero = llvm::Constant::getNullValue(value->getType());
      body_->set_value(plan.columns[k], is_held ? ir_.CreateICmpSLT(value, zero) : value);
    }
    std::vector<int> row_of_lane;
    for (int lane = 0; lane < plan.lanes; ++lane) row_of_lane.push_back(plan.row_of(v, lane));
    for (size_t k = 0; k < plan.rows.size(); ++k) {
      llvm::Value* spread = plan.by_row ? rows[k] : ir_.CreateShuffleVector(rows[k], row_of_lane);
      body_->set_value(plan.rows[k], spread);
    }
    for (const ValueId id : known.needed(plan.both)) {
      const fusion::Instr& instr = program_.body[id];
      if (const std::optional<bool> outcome = known.of(id)) {
        body_->set_value(id, ir_.getInt1(*outcome));
      } else if (const std::optional<ValueId> operand = known.selected(instr)) {
        body_->set_value(id, body_->round(instr.dtype, body_->value(*operand)));
      } else {
        body_->emit(id);
      }
    }
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
