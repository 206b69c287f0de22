// Reductions of columns, or of rows that are interleaved in memory: they take turns.
#include <algorithm>
#include <cstddef>

#include "fusion/ir/scan.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

using fusion::Op;
using fusion::StrideClass;
using fusion::ValueId;

namespace {

constexpr int64_t kPointsOfCache = 4 << 20;
// The most that take turns: rows, and bytes of a row's columns.
constexpr int kRowsOfPanel = 32, kBytesOfWidest = 4096;

}  // namespace

bool KernelEmitter::fits_panels() const {
  // Vectors of long bodies are few as it is.
  constexpr size_t kMaxInstrs = 8, kMaxReductions = 2;
  const bool is_short =
      std::all_of(plan_.passes.begin(), plan_.passes.end(),
                  [](const RowPlan::Stage& pass) { return pass.instrs.size() <= kMaxInstrs; });
  const bool is_column = program_.schedule == fusion::Schedule::kColumn;
  // Columns of one leaf are no streams.
  const bool has_leaves = !program_.one_leaf || program_.lanes_across_rows;
  return !program_.tiled && !copies_runs() && entry_ != Entry::kFinish && has_leaves &&
         !plan_.reductions.empty() && !has_scans(program_) && (is_column || plan_.cached.empty()) &&
         plan_.before[0].stores.empty() && plan_.reductions.size() <= kMaxReductions &&
         (is_column ? is_short : plan_.passes.size() == 1) &&
         (lanes_reduced() || is_column || program_.body.size() <= kMaxInstrs);
}

bool KernelEmitter::has_panels() const {
  if (!fits_panels() || program_.lanes_across_rows) return false;
  if (program_.schedule == fusion::Schedule::kColumn) return true;
  return program_.reduced_rank > 1 && find_interleaved() < num_accesses();
}

bool KernelEmitter::overlaps_columns() const {
  return has_panels() && !lanes_reduced() && !host().masked_vectors && !program_.nontemporal &&
         !program_.in_place && fits_narrow_lanes();
}

size_t KernelEmitter::find_interleaved() const {
  size_t a = 0;
  while (a < num_accesses() &&
         !(program_.accesses[a].varies_along_outer && program_.accesses[a].varies_along_reduced)) {
    ++a;
  }
  return a;
}

int KernelEmitter::widest_panel() const {
  return lanes_reduced() ? kRowsOfPanel : kBytesOfWidest / host().vector_bytes;
}

llvm::Value* KernelEmitter::width_of_panels(llvm::Value* by_rows) {
  // Longer parts of rows are read better, unless they are read again.
  constexpr int kBytes = 512, kBytesFromAfar = 1024;
  if (!lanes_reduced()) {
    llvm::Value* width = builder_.index(kBytes / host().vector_bytes);
    llvm::Value* widest = builder_.index(widest_panel());
    if (plan_.passes.size() == 1 && host().masks_slow_streams) {
      width = ir_.CreateSelect(is_far(kPointsOfCache),
                               builder_.index(kBytesFromAfar / host().vector_bytes), width);
    } else if (plan_.passes.size() == 1) {
      width = widest;
    } else if (by_rows != nullptr) {
      width = ir_.CreateSelect(by_rows, widest, width);
    }
    if (cached_columns_ == nullptr) return width;
    return builder_.min(width, ir_.CreateUDiv(cached_columns_, builder_.index(builder_.lanes())));
  }
  // Rows that follow one another in memory are read one by one.
  const auto access = static_cast<uint16_t>(find_interleaved());
  llvm::Value* are_interleaved = ir_.CreateICmpSLT(body_->stride(access, program_.outer_rank - 1),
                                                   body_->stride(access, program_.outer_rank));
  return ir_.CreateSelect(are_interleaved, builder_.index(widest_panel()), builder_.index(1));
}

llvm::Value* KernelEmitter::leaves_page(uint16_t access, llvm::Value* stride) {
  constexpr int64_t kPage = 4096;
  const auto size = static_cast<int64_t>(size_of(program_.accesses[access].dtype));
  llvm::Value* in_page = ir_.CreateAnd(stride, builder_.index(kPage / size - 1));
  return ir_.CreateICmpNE(in_page, builder_.index(0));
}

llvm::Value* KernelEmitter::streams_columns() {
  llvm::Value* streams = is_far(kPointsOfCache);
  for (size_t a = 0; a < num_accesses(); ++a) {
    const fusion::Access& access = program_.accesses[a];
    if (!access.varies_along_reduced) continue;
    const auto number = static_cast<uint16_t>(a);
    llvm::Value* stride = body_->stride(number, program_.rank() - 1);
    streams = ir_.CreateOr(streams, leaves_page(number, stride));
  }
  return streams;
}

void KernelEmitter::emit_panels(llvm::Value* first, llvm::Value* last, llvm::Value* row) {
  const auto [begin, end] = element_range();
  llvm::Value* one = builder_.index(1);
  llvm::Value* size = builder_.index(fusion::leaf_size(program_.schedule));
  if (lanes_reduced() && is_in_any_order(plan_.passes[0])) {
    // Whole runs, whose ends cut vectors.
    llvm::Value* run = builder_.max(body_->extent(program_.rank() - 1), one);
    size = ir_.CreateMul(run, builder_.ceil_div(size, run));
  }
  if (lanes_reduced() && turns_runs(plan_.passes[0])) size = elements_of_turns(size);
  llvm::Value* by_rows = are_better_by_rows(first, last);
  llvm::Value* most = width_of_panels(by_rows);
  const bool is_free =
      std::all_of(plan_.passes.begin(), plan_.passes.end(),
                  [&](const RowPlan::Stage& pass) { return is_in_any_order(pass); });
  if (is_free && !lanes_reduced() && !host().masked_vectors) {
    // A few rows at a time, as far as they are wide, are read from end to end.
    constexpr int kRows = 8;
    size = builder_.index(kRows);
    most = builder_.index(widest_panel());
  }
  llvm::Value* leaves = builder_.ceil_div(ir_.CreateSub(end, begin), size);
  llvm::Value* lanes = builder_.index(lanes_reduced() ? 1 : builder_.lanes());
  const size_t passes = entry_ == Entry::kBlock ? 1 : plan_.passes.size();
  std::vector<Tree> trees;
  for (size_t p = 0; p < passes; ++p) {
    // Where the order is free, what a column has so far is all that its tree holds.
    const int height = is_in_any_order(plan_.passes[p]) ? 1 : kTreeLevels;
    trees.push_back(make_tree(plan_.passes[p].reductions, widest_panel(), height));
  }
  bool are_whole = false;  // the vectors of a panel
  llvm::Value* end_of_panels = last;
  auto emit_panel = [&](llvm::Value* panel, const Values&) {
    llvm::Value* width =
        builder_.min(builder_.ceil_div(ir_.CreateSub(end_of_panels, panel), lanes), most);
    for (size_t p = 0; p < passes; ++p) {
      const RowPlan::Stage& pass = plan_.passes[p];
      const TakeTurns take_turns = [&](const auto& body) {
        builder_.loop(builder_.index(0), width, one, {}, [&](llvm::Value* column, const Values&) {
          llvm::Value* i = ir_.CreateAdd(panel, ir_.CreateMul(column, lanes));
          panel_column_ = column;
          if (lanes_reduced()) {
            body_->set_row(i);
          } else if (host().masked_vectors) {
            body_->set_lane_start(i);
            are_whole ? body_->set_active(nullptr) : set_active_below(i, last);
          } else {  // the last vector may begin before the one before it ends
            i = builder_.min(i, ir_.CreateSub(last, lanes));
            body_->set_lane_start(i);
          }
          emit_stage(plan_.before[0]);
          for (size_t done = 0; done < p; ++done) emit_known(done, trees[done], column);
          body(column, i);
          return Values{};
        });
      };
      const bool is_known = !pass.reductions.empty() && is_in_any_order(pass);
      if (is_known) {
        builder_.loop(builder_.index(0), width, one, {}, [&](llvm::Value* column, const Values&) {
          write_total(trees[p], column, identities(pass.reductions));
          return Values{};
        });
      }
      const bool may_go_by_rows = by_rows != nullptr && can_go_by_rows(pass);
      const Waiting waiting = may_go_by_rows ? make_waiting(pass, widest_panel()) : Waiting{};
      auto begin_of = [&](llvm::Value* leaf) {
        return ir_.CreateAdd(begin, ir_.CreateMul(leaf, size));
      };
      auto end_of = [&](llvm::Value* from) { return builder_.min(ir_.CreateAdd(from, size), end); };
      auto keep = [&](llvm::Value* column, llvm::Value* leaf, const Accumulators& result) {
        if (is_known) {
          const Accumulators before = read_total(trees[p], column);
          write_total(trees[p], column, combine(pass.reductions, before, result));
        } else if (!result.empty()) {
          add_to_tree(trees[p], column, leaf, result);
        }
      };
      auto add_leaf = [&](llvm::Value* column, llvm::Value* leaf) {
        llvm::Value* from = begin_of(leaf);
        keep(column, leaf, emit_leaf(pass, from, end_of(from)));
      };
      auto add_leaf_by_rows = [&](llvm::Value* leaf) {
        llvm::Value* from = begin_of(leaf);
        emit_leaf_by_rows(
            pass, waiting, from, end_of(from), take_turns,
            [&](llvm::Value* column, const Accumulators& result) { keep(column, leaf, result); });
      };
      auto emit_turns = [&] {
        if (!lanes_reduced()) body_->set_lane_start(panel);
        const std::vector<StreamAhead> ahead =
            rows_ahead(pass, fusion::leaf_size(program_.schedule));
        // Of one leaf a turn would be over before the hardware foresees what it reads.
        constexpr int kLeavesOfTurn = 4;
        llvm::Value* turn = takes_runs_in_turn(pass) ? builder_.index(kLeavesOfTurn) : one;
        builder_.loop(builder_.index(0), leaves, turn, {}, [&](llvm::Value* leaf, const Values&) {
          llvm::Value* end_of_turn = builder_.min(ir_.CreateAdd(leaf, turn), leaves);
          prefetch(ahead, begin_of(leaf));
          auto add_leaves = [&] {
            take_turns([&](llvm::Value* column, llvm::Value*) {
              if (!takes_runs_in_turn(pass)) return add_leaf(column, leaf);
              builder_.loop(leaf, end_of_turn, one, {}, [&](llvm::Value* l, const Values&) {
                add_leaf(column, l);
                return Values{};
              });
            });
          };
          if (may_go_by_rows)
            builder_.if_then_else(
                by_rows, [&] { add_leaf_by_rows(leaf); }, add_leaves);
          else
            add_leaves();
          return Values{};
        });
      };
      if (takes_runs_in_turn(pass)) {
        builder_.if_then_else(
            are_long_runs(), [&] { emit_runs_in_turn(pass, trees[p], widest_panel(), take_turns); },
            emit_turns);
      } else {
        emit_turns();
      }
      take_turns([&](llvm::Value* column, llvm::Value* i) {
        Accumulators totals;
        if (is_known) {
          totals = read_total(trees[p], column);
        } else if (!pass.reductions.empty()) {
          totals = total_of(trees[p], column, leaves);
        }
        if (p + 1 < passes) write_total(trees[p], column, totals);
        emit_totals(p, totals, ir_.CreateAdd(row, ir_.CreateSub(i, first)));
      });
    }
    return Values{};
  };
  llvm::Value* step = ir_.CreateMul(lanes, most);
  if (!lanes_reduced() && host().masks_slow_streams) {
    // Of far columns all whole vectors first.
    llvm::Value* columns = ir_.CreateSub(last, first);
    llvm::Value* whole = ir_.CreateSub(columns, ir_.CreateURem(columns, lanes));
    whole = ir_.CreateSelect(streams_columns(), whole, builder_.index(0));
    end_of_panels = ir_.CreateAdd(first, whole);
    are_whole = true;
    builder_.loop(first, end_of_panels, step, {}, emit_panel);
    are_whole = false;
    llvm::Value* rest = end_of_panels;
    end_of_panels = last;
    builder_.loop(rest, last, step, {}, emit_panel);
  } else {
    builder_.loop(first, last, step, {}, emit_panel);
  }
  panel_column_ = nullptr;
  body_->set_active(nullptr);
}

void KernelEmitter::emit_known(size_t p, const Tree& tree, llvm::Value* column) {
  const std::vector<ValueId>& reductions = plan_.passes[p].reductions;
  const Accumulators totals = read_total(tree, column);
  for (size_t k = 0; k < totals.size(); ++k) {
    body_->set_value(reductions[k], finished(program_.body[reductions[k]], totals[k]));
  }
  for (const ValueId id : plan_.before[p + 1].instrs) body_->emit(id);
}

bool KernelEmitter::has_narrow_panel() const {
  return has_panels() && plan_.passes.size() == 1 && fits_narrow_lanes();
}

bool KernelEmitter::fits_narrow_lanes() const {
  const bool has_lanes = plan_.lanes >= 4 * kNarrowPart;
  // Masked vectors of short elements are scalars where masks are not free.
  const size_t least_size = host().masked_vectors ? 1 : 4;
  return has_lanes &&
         std::all_of(
             program_.accesses.begin(), program_.accesses.end(), [&](const fusion::Access& access) {
               return access.lanes == StrideClass::kZero ||
                      (access.lanes == StrideClass::kUnit && size_of(access.dtype) >= least_size);
             });
}

bool KernelEmitter::reads_into_rows(const RowPlan::Stage& pass) const {
  const bool masks_are_slow = host().masks_slow_streams || !host().masked_vectors;
  return masks_are_slow && program_.reduced_rank == 1 && pass.stores.empty() &&
         std::all_of(pass.instrs.begin(), pass.instrs.end(), [&](ValueId id) {
           const fusion::Instr& instr = program_.body[id];
           if (instr.op == Op::kLoad) return instr.num_operands == 0;
           return instr.op != Op::kGather && instr.op != Op::kCheckIndex;
         });
}

llvm::Value* KernelEmitter::rows_before_others(const RowPlan::Stage& pass, llvm::Value* rows,
                                               llvm::Value* columns) {
  const std::vector<uint16_t> loads = loads_along_reduced(pass);
  llvm::Value* step = builder_.index(builder_.lanes());
  for (const uint16_t access : loads) {
    step = builder_.min(step, body_->stride(access, program_.rank() - 1));
  }
  const int64_t size = widest_of(loads);
  llvm::Value* zero = builder_.index(0);
  llvm::Value* one = builder_.index(1);
  llvm::Value* beyond = ir_.CreateSub(builder_.index(builder_.lanes()), columns);
  llvm::Value* last = builder_.ceil_div(beyond, builder_.max(step, one));
  llvm::Value* count = builder_.max(ir_.CreateSub(rows, last), zero);
  llvm::Value* are_wanted = ir_.CreateICmpSGE(step, one);
  if (host().masked_vectors) {
    // From afar, where lines are asked for ahead, masked loads are faster; whole vectors are as
    // fast.
    llvm::Value* part = ir_.CreateAnd(columns, builder_.index(host().vector_bytes / size - 1));
    are_wanted = ir_.CreateAnd(are_wanted, ir_.CreateNot(is_far(kCachedOfStreams / size)));
    are_wanted = ir_.CreateAnd(are_wanted, ir_.CreateICmpNE(part, zero));
  }
  return ir_.CreateSelect(are_wanted, count, zero);
}

llvm::Value* KernelEmitter::are_better_in_order(const RowPlan::Stage& pass) {
  constexpr int64_t kLeastRow = 20;  // whose leaves are not foreseen when they take turns
  llvm::Value* are_better = ir_.getFalse();
  for (const uint16_t access : loads_along_reduced(pass)) {
    const auto size = static_cast<int64_t>(size_of(program_.accesses[access].dtype));
    llvm::Value* stride = body_->stride(access, program_.rank() - 1);
    llvm::Value* row = builder_.max(stride, ir_.CreateNeg(stride));
    llvm::Value* is_long = ir_.CreateICmpSGE(row, builder_.index(kLeastRow / size));
    are_better = ir_.CreateOr(are_better, ir_.CreateAnd(is_long, is_far(kCachedOfStreams / size)));
  }
  return are_better;
}

void KernelEmitter::emit_narrow_panel(llvm::Value* first, llvm::Value* last, llvm::Value* row) {
  constexpr int kLevel = 2, kLeaves = 1 << kLevel;  // that take turns
  const RowPlan::Stage& pass = plan_.passes[0];
  const auto [begin, end] = element_range();
  llvm::Value* zero = builder_.index(0);
  llvm::Value* one = builder_.index(1);
  llvm::Value* size = builder_.index(fusion::leaf_size(program_.schedule));
  body_->set_lane_start(first);
  set_active_below(first, last);
  emit_stage(plan_.before[0]);
  const Tree tree = make_tree(pass.reductions, 1);
  llvm::Value* elements = ir_.CreateSub(end, begin);
  llvm::Value* whole = ir_.CreateUDiv(elements, size);
  llvm::Value* groups = ir_.CreateUDiv(whole, builder_.index(kLeaves));
  auto begin_of = [&](llvm::Value* leaf) {
    return ir_.CreateAdd(begin, ir_.CreateMul(leaf, size));
  };
  const std::vector<StreamAhead> ahead =
      rows_ahead(pass, kLeaves * fusion::leaf_size(program_.schedule));
  auto emit_group = [&](llvm::Value* group, const Values&) {
    llvm::Value* from[kLeaves];
    Values start;
    prefetch(ahead, begin_of(ir_.CreateMul(group, builder_.index(kLeaves))));
    for (int l = 0; l < kLeaves; ++l) {
      llvm::Value* leaf = ir_.CreateMul(group, builder_.index(kLeaves));
      from[l] = begin_of(ir_.CreateAdd(leaf, builder_.index(l)));
      const Values state = flatten(leaf_start(pass.reductions));
      start.insert(start.end(), state.begin(), state.end());
    }
    auto state_of = [&](const Values& states, int l) {
      const auto count = static_cast<std::ptrdiff_t>(states.size()) / kLeaves;
      const auto at = states.begin() + l * count;
      return unflatten(pass.reductions, program_, Values(at, at + count));
    };
    const Values states =
        builder_.loop(zero, size, one, start, [&](llvm::Value* r, const Values& in) {
          Values next;
          for (int l = 0; l < kLeaves; ++l) {
            const Values state =
                flatten(add_element(pass, ir_.CreateAdd(from[l], r), from[l], state_of(in, l)));
            next.insert(next.end(), state.begin(), state.end());
          }
          return next;
        });
    std::vector<Accumulators> subtrees;
    for (int l = 0; l < kLeaves; ++l) {
      subtrees.push_back(state_of(states, l));
      widen_leaf(from[l], &subtrees.back(), pass.reductions);
    }
    for (int count = kLeaves; count > 1; count /= 2) {
      for (int l = 0; l < count / 2; ++l) {
        subtrees[l] = combine(pass.reductions, subtrees[2 * l], subtrees[2 * l + 1]);
      }
    }
    add_to_tree(tree, zero, group, subtrees[0], kLevel);
    return Values{};
  };
  auto add_leaf = [&](llvm::Value* leaf, const Values&) {
    llvm::Value* from = begin_of(leaf);
    llvm::Value* to = builder_.min(ir_.CreateAdd(from, size), end);
    add_to_tree(tree, zero, leaf, emit_leaf(pass, from, to));
    return Values{};
  };
  llvm::Value* in_order = host().masks_slow_streams ? nullptr : are_better_in_order(pass);
  // Whole groups.
  auto add_groups = [&](llvm::Value* first_group, llvm::Value* last_group) {
    auto take_turns = [&] { builder_.loop(first_group, last_group, one, {}, emit_group); };
    if (in_order == nullptr) return take_turns();
    llvm::Value* leaves_of_group = builder_.index(kLeaves);
    builder_.if_then_else(
        in_order,
        [&] {
          builder_.loop(ir_.CreateMul(first_group, leaves_of_group),
                        ir_.CreateMul(last_group, leaves_of_group), one, {}, add_leaf);
        },
        take_turns);
  };
  llvm::Value* begin_of_masked = zero;
  if (reads_into_rows(pass)) {
    llvm::Value* rows = rows_before_others(pass, elements, ir_.CreateSub(last, first));
    begin_of_masked = ir_.CreateUDiv(ir_.CreateUDiv(rows, size), builder_.index(kLeaves));
    body_->set_active(nullptr);
    add_groups(zero, begin_of_masked);
    set_active_below(first, last);
  }
  add_groups(begin_of_masked, groups);
  llvm::Value* leaves = builder_.ceil_div(elements, size);
  builder_.loop(ir_.CreateMul(groups, builder_.index(kLeaves)), leaves, one, {}, add_leaf);
  emit_totals(0, total_of(tree, zero, leaves), row);
  body_->set_active(nullptr);
}

void KernelEmitter::emit_totals(size_t p, const Accumulators& totals, llvm::Value* row) {
  if (entry_ == Entry::kBlock)
    store_partials(totals, row);
  else
    emit_after_pass(p, totals);
}

}  // namespace sluice::kernels
