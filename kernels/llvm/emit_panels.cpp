// Reductions of columns, or of rows that are interleaved in memory: they take turns.
#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

#include "fusion/ir/scan.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

using fusion::ValueId;

namespace {

// The most that take turns: rows, and vectors of columns, in bytes of a register each. Their trees
// are on the stack.
constexpr int kRowsOfPanel = 32, kBytesOfWidest = 2048;

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
      width = ir_.CreateSelect(is_far(kCachedColumns),
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
  llvm::Value* streams = is_far(kCachedColumns);
  for (size_t a = 0; a < num_accesses(); ++a) {
    const fusion::Access& access = program_.accesses[a];
    if (!access.varies_along_reduced) continue;
    const auto number = static_cast<uint16_t>(a);
    llvm::Value* stride = body_->stride(number, program_.rank() - 1);
    streams = ir_.CreateOr(streams, leaves_page(number, stride));
  }
  return streams;
}

// Of the rows, or the columns, [first, last).
class KernelEmitter::Panels {
 public:
  Panels(KernelEmitter* emitter, llvm::Value* first, llvm::Value* last, llvm::Value* row);

  void emit();

 private:
  // Columns from `begin` on, and how many vectors of them.
  struct Panel {
    llvm::Value* begin;
    llvm::Value* width;
  };

  const RowPlan::Stage& pass(size_t p) const { return e_.plan_.passes[p]; }
  // Whether what a column has so far is all that its tree holds.
  bool is_known(size_t p) const {
    return !pass(p).reductions.empty() && e_.is_in_any_order(pass(p));
  }
  void set_size_of_leaves();
  void emit_panels(llvm::Value* from, llvm::Value* to);
  void emit_panel(const Panel& panel);
  void emit_pass(const Panel& panel, size_t p);
  TakeTurns turns_of(const Panel& panel, size_t p);
  void set_column(llvm::Value** i);

  llvm::Value* begin_of(llvm::Value* leaf) {
    return ir_.CreateAdd(begin_, ir_.CreateMul(leaf, size_));
  }
  llvm::Value* end_of(llvm::Value* from) { return builder_.min(ir_.CreateAdd(from, size_), end_); }
  void keep(size_t p, llvm::Value* column, llvm::Value* leaf, const Accumulators& result);
  void add_leaf(size_t p, llvm::Value* column, llvm::Value* leaf);
  void emit_turns(size_t p, llvm::Value* panel, const TakeTurns& take_turns);

  KernelEmitter& e_;
  ir::Builder& builder_;
  llvm::IRBuilder<>& ir_;
  llvm::Value* const first_;
  llvm::Value* const last_;
  llvm::Value* const row_;
  llvm::Value* begin_;  // the elements
  llvm::Value* end_;
  llvm::Value* one_;
  llvm::Value* lanes_;
  llvm::Value* by_rows_;  // see are_better_by_rows()
  llvm::Value* most_;     // vectors of a panel
  llvm::Value* size_;     // of a leaf
  llvm::Value* leaves_;
  llvm::Value* end_of_panels_;
  bool are_whole_ = false;  // the vectors of a panel
  const size_t passes_;
  std::vector<Tree> trees_;
};

KernelEmitter::Panels::Panels(KernelEmitter* emitter, llvm::Value* first, llvm::Value* last,
                              llvm::Value* row)
    : e_(*emitter),
      builder_(e_.builder_),
      ir_(e_.ir_),
      first_(first),
      last_(last),
      row_(row),
      end_of_panels_(last),
      passes_(e_.entry_ == Entry::kBlock ? 1 : e_.plan_.passes.size()) {
  std::tie(begin_, end_) = e_.element_range();
  one_ = builder_.index(1);
  lanes_ = builder_.index(e_.lanes_reduced() ? 1 : builder_.lanes());
  by_rows_ = e_.are_better_by_rows(first, last);
  most_ = e_.width_of_panels(by_rows_);
  set_size_of_leaves();
  leaves_ = builder_.ceil_div(ir_.CreateSub(end_, begin_), size_);
  for (size_t p = 0; p < passes_; ++p) {
    // Where the order is free it holds what the column has so far.
    const int height = e_.is_in_any_order(pass(p)) ? 1 : kTreeLevels;
    trees_.push_back(e_.make_tree(pass(p).reductions, e_.widest_panel(), height));
  }
}

void KernelEmitter::Panels::set_size_of_leaves() {
  size_ = builder_.index(fusion::leaf_size(e_.program_.schedule));
  if (e_.lanes_reduced() && e_.is_in_any_order(pass(0))) {
    // Whole runs, whose ends cut vectors.
    llvm::Value* run = builder_.max(e_.body_->extent(e_.program_.rank() - 1), one_);
    size_ = ir_.CreateMul(run, builder_.ceil_div(size_, run));
  }
  if (e_.lanes_reduced() && e_.turns_runs(pass(0))) size_ = e_.elements_of_turns(size_);
  const bool is_free =
      std::all_of(e_.plan_.passes.begin(), e_.plan_.passes.end(),
                  [&](const RowPlan::Stage& pass) { return e_.is_in_any_order(pass); });
  if (is_free && !e_.lanes_reduced() && !host().masked_vectors) {
    // A few rows at a time, as far as they are wide, are read from end to end.
    constexpr int kRows = 8;
    size_ = builder_.index(kRows);
    most_ = builder_.index(e_.widest_panel());
  }
}

void KernelEmitter::Panels::emit() {
  if (e_.lanes_reduced() || !host().masks_slow_streams) return emit_panels(first_, last_);
  // Of far columns all whole vectors first.
  llvm::Value* columns = ir_.CreateSub(last_, first_);
  llvm::Value* whole = ir_.CreateSub(columns, ir_.CreateURem(columns, lanes_));
  whole = ir_.CreateSelect(e_.streams_columns(), whole, builder_.index(0));
  llvm::Value* end_of_whole = ir_.CreateAdd(first_, whole);
  are_whole_ = true;
  emit_panels(first_, end_of_whole);
  are_whole_ = false;
  emit_panels(end_of_whole, last_);
}

void KernelEmitter::Panels::emit_panels(llvm::Value* from, llvm::Value* to) {
  end_of_panels_ = to;
  builder_.loop(from, to, ir_.CreateMul(lanes_, most_), {}, [&](llvm::Value* panel, const Values&) {
    llvm::Value* left = ir_.CreateSub(end_of_panels_, panel);
    emit_panel({panel, builder_.min(builder_.ceil_div(left, lanes_), most_)});
    return Values{};
  });
}

void KernelEmitter::Panels::emit_panel(const Panel& panel) {
  for (size_t p = 0; p < passes_; ++p) emit_pass(panel, p);
}

void KernelEmitter::Panels::emit_pass(const Panel& panel, size_t p) {
  const TakeTurns take_turns = turns_of(panel, p);
  if (is_known(p)) {
    builder_.loop(builder_.index(0), panel.width, one_, {},
                  [&](llvm::Value* column, const Values&) {
                    e_.write_total(trees_[p], column, e_.identities(pass(p).reductions));
                    return Values{};
                  });
  }
  auto emit_leaves = [&] { emit_turns(p, panel.begin, take_turns); };
  if (e_.takes_runs_in_turn(pass(p))) {
    auto emit_runs = [&] {
      e_.emit_runs_in_turn(pass(p), trees_[p], e_.widest_panel(), take_turns);
    };
    builder_.if_then_else(e_.are_long_runs(), emit_runs, emit_leaves);
  } else {
    emit_leaves();
  }
  take_turns([&](llvm::Value* column, llvm::Value* i) {
    Accumulators totals;
    if (is_known(p)) {
      totals = e_.read_total(trees_[p], column);
    } else if (!pass(p).reductions.empty()) {
      totals = e_.total_of(trees_[p], column, leaves_);
    }
    if (p + 1 < passes_) e_.write_total(trees_[p], column, totals);
    e_.emit_totals(p, totals, ir_.CreateAdd(row_, ir_.CreateSub(i, first_)));
  });
}

KernelEmitter::TakeTurns KernelEmitter::Panels::turns_of(const Panel& panel, size_t p) {
  return [this, panel, p](const auto& body) {
    builder_.loop(builder_.index(0), panel.width, one_, {},
                  [&](llvm::Value* column, const Values&) {
                    llvm::Value* i = ir_.CreateAdd(panel.begin, ir_.CreateMul(column, lanes_));
                    e_.panel_column_ = column;
                    set_column(&i);
                    e_.emit_stage(e_.plan_.before[0]);
                    for (size_t done = 0; done < p; ++done) {
                      e_.emit_known(done, trees_[done], column);
                    }
                    body(column, i);
                    return Values{};
                  });
  };
}

void KernelEmitter::Panels::set_column(llvm::Value** i) {
  if (e_.lanes_reduced()) return e_.body_->set_row(*i);
  if (!host().masked_vectors) {  // the last vector may begin before the one before it ends
    *i = builder_.min(*i, ir_.CreateSub(last_, lanes_));
    return e_.body_->set_lane_start(*i);
  }
  e_.body_->set_lane_start(*i);
  are_whole_ ? e_.body_->set_active(nullptr) : e_.set_active_below(*i, last_);
}

void KernelEmitter::Panels::keep(size_t p, llvm::Value* column, llvm::Value* leaf,
                                 const Accumulators& result) {
  if (is_known(p)) {
    const Accumulators before = e_.read_total(trees_[p], column);
    e_.write_total(trees_[p], column, e_.combine(pass(p).reductions, before, result));
  } else if (!result.empty()) {
    e_.add_to_tree(trees_[p], column, leaf, result);
  }
}

void KernelEmitter::Panels::add_leaf(size_t p, llvm::Value* column, llvm::Value* leaf) {
  llvm::Value* from = begin_of(leaf);
  keep(p, column, leaf, e_.emit_leaf(pass(p), from, end_of(from)));
}

void KernelEmitter::Panels::emit_turns(size_t p, llvm::Value* panel, const TakeTurns& take_turns) {
  // Of one leaf a turn would be over before the hardware foresees what it reads.
  constexpr int kLeavesOfTurn = 4;
  if (!e_.lanes_reduced()) e_.body_->set_lane_start(panel);
  const std::vector<StreamAhead> ahead =
      e_.rows_ahead(pass(p), fusion::leaf_size(e_.program_.schedule));
  const bool takes_runs = e_.takes_runs_in_turn(pass(p));
  const bool may_go_by_rows = by_rows_ != nullptr && e_.can_go_by_rows(pass(p));
  const Waiting waiting = may_go_by_rows ? e_.make_waiting(pass(p), e_.widest_panel()) : Waiting{};
  llvm::Value* turn = takes_runs ? builder_.index(kLeavesOfTurn) : one_;
  builder_.loop(builder_.index(0), leaves_, turn, {}, [&](llvm::Value* leaf, const Values&) {
    e_.prefetch(ahead, begin_of(leaf));
    auto add_leaves = [&] {
      take_turns([&](llvm::Value* column, llvm::Value*) {
        if (!takes_runs) return add_leaf(p, column, leaf);
        llvm::Value* end_of_turn = builder_.min(ir_.CreateAdd(leaf, turn), leaves_);
        builder_.loop(leaf, end_of_turn, one_, {}, [&](llvm::Value* l, const Values&) {
          add_leaf(p, column, l);
          return Values{};
        });
      });
    };
    auto add_by_rows = [&] {
      llvm::Value* from = begin_of(leaf);
      e_.emit_leaf_by_rows(
          pass(p), waiting, from, end_of(from), take_turns,
          [&](llvm::Value* column, const Accumulators& result) { keep(p, column, leaf, result); });
    };
    may_go_by_rows ? builder_.if_then_else(by_rows_, add_by_rows, add_leaves) : add_leaves();
    return Values{};
  });
}

void KernelEmitter::emit_panels(llvm::Value* first, llvm::Value* last, llvm::Value* row) {
  Panels(this, first, last, row).emit();
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

void KernelEmitter::emit_totals(size_t p, const Accumulators& totals, llvm::Value* row) {
  if (entry_ == Entry::kBlock)
    store_partials(totals, row);
  else
    emit_after_pass(p, totals);
}

}  // namespace sluice::kernels
