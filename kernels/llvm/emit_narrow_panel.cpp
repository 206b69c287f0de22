// Reductions of few columns: leaves take turns, or are read in order, as is the memory.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

using fusion::StrideClass;
using fusion::ValueId;

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
    llvm::Value* row = builder_.magnitude(stride);
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

}  // namespace sluice::kernels
