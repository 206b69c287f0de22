// Pointwise kernels whose values depend on bounds along the lanes: runs are cut at the bounds.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "fusion/ir/cost.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/kernel_emitter.h"

namespace sluice::kernels {

using fusion::ValueId;
using ir::LaneScope;

void KernelEmitter::emit_ranges(llvm::Value* first, llvm::Value* last) {
  const RowPlan::Ranges& ranges = plan_.ranges;
  if (ranges.values.empty()) return emit_versions(first, last, Outcomes(program_));
  const int64_t lanes = builder_.lanes();
  const bool decides_by_lane =
      host().masked_vectors &&
      std::none_of(ranges.rest.begin(), ranges.rest.end(),
                   [&](ValueId id) { return program_.body[id].op == fusion::Op::kGather; });
  std::map<ValueId, llvm::Value*> changes;
  for (const ValueId id : ranges.values) {
    if (ranges.comparisons[id] && !ranges.moving[id]) changes[id] = body_->comparison_change(id);
  }
  builder_.walk(first, last, [&](llvm::Value* i) {
    llvm::Value* next_vector = ir_.CreateAdd(i, builder_.index(lanes));
    llvm::Value* end = last;
    llvm::Value* changes_near = builder_.index(0);
    llvm::Value* farthest_near = i;
    NearOutcomes near_outcomes;
    {
      LaneScope scalar(1);
      for (const ValueId id : ranges.values) {
        if (!ranges.comparisons[id]) {
          body_->emit(id);
          continue;
        }
        llvm::Value* outcome = body_->compare_index(id, i);
        body_->set_value(id, outcome);
        // What moves an index changes where another comparison does, behind which nothing is asked.
        llvm::Value* change = ranges.moving[id] ? body_->comparison_change(id) : changes.at(id);
        llvm::Value* ahead = ir_.CreateICmpSGT(change, i);
        end = ir_.CreateSelect(ahead, builder_.min(end, change), end);
        if (!ranges.moving[id]) {
          near_outcomes[id] = {outcome, ir_.CreateSelect(ahead, change, next_vector)};
        }
        llvm::Value* near = ir_.CreateAnd(ahead, ir_.CreateICmpSLT(change, next_vector));
        changes_near = ir_.CreateAdd(changes_near, ir_.CreateZExt(near, ir_.getInt64Ty()));
        farthest_near = ir_.CreateSelect(near, builder_.max(farthest_near, change), farthest_near);
      }
    }
    // One bound may be two comparisons, where one part ends and the next begins. Two vectors with a
    // part of their lanes active are faster than one that decides by lane, three are not, unless
    // that one gathers what rolls move.
    llvm::Value* agrees = decides_by_lane ? ir_.CreateICmpSLE(farthest_near, end)
                                          : ir_.CreateICmpSLE(changes_near, builder_.index(2));
    if (program_.nontemporal && !program_.runs_cut_lines) {
      // Vectors stay aligned: whole ones, unless it is the last.
      llvm::Value* whole = ir_.CreateAnd(ir_.CreateSub(end, i), -lanes);
      llvm::Value* inside = ir_.CreateICmpSLT(end, last);
      end = ir_.CreateSelect(inside, ir_.CreateAdd(i, whole), last);
      agrees = ir_.CreateICmpSGT(end, i);
    }
    if (!ranges.by_lane) {
      emit_versions(i, end, Outcomes(program_));
      return end;
    }
    builder_.if_then_else(
        agrees, [&] { emit_versions(i, end, Outcomes(program_)); },
        [&] {
          set_active_below(i, last);
          emit_by_lane(i, near_outcomes);
        });
    return ir_.CreateSelect(agrees, end, next_vector);
  });
  body_->set_active(nullptr);
}

void KernelEmitter::emit_by_lane(llvm::Value* i, const NearOutcomes& outcomes) {
  body_->set_lane_start(i);
  for (const ValueId id : plan_.before[0].instrs) {
    const auto known = outcomes.find(id);
    if (known == outcomes.end()) {
      body_->emit(id);
      continue;
    }
    const auto [outcome, change] = known->second;
    llvm::Value* distance =
        builder_.min(ir_.CreateSub(change, i), builder_.index(builder_.lanes()));
    llvm::Value* is_behind = builder_.lanes_from(distance);
    body_->set_value(id, ir_.CreateXor(builder_.splat(outcome, builder_.lanes()), is_behind));
  }
  for (const fusion::Store& store : plan_.before[0].stores) body_->emit_store(store);
}

void KernelEmitter::emit_versions(llvm::Value* first, llvm::Value* last, const Outcomes& known) {
  // Of all versions together: bounded by the instruction cache and by compile time.
  constexpr size_t kMaxInstrs = 400;
  const std::vector<ValueId> instrs = known.needed(plan_.ranges.rest);
  // The outermost selection makes others unnecessary.
  const auto select = std::find_if(instrs.rbegin(), instrs.rend(), [&](ValueId id) {
    const fusion::Instr& instr = program_.body[id];
    return op_info(instr.op).rule == fusion::TypeRule::kSelect &&
           plan_.ranges.uniform[instr.operands[0]] && !known.of(instr.operands[0]);
  });
  if (select == instrs.rend()) {
    version_instrs_ += instrs.size();
    return emit_version(first, last, known, instrs);
  }
  const ValueId condition = program_.body[*select].operands[0];
  Outcomes if_true = known, if_false = known;
  if_true.learn(condition, true);
  if_false.learn(condition, false);
  // The parts of a concat have hardly anything in common: a loop for each is no more code.
  const size_t both =
      if_true.needed(plan_.ranges.rest).size() + if_false.needed(plan_.ranges.rest).size();
  const bool repeats = both > instrs.size() + instrs.size() / 8;
  if (repeats && version_instrs_ + both > kMaxInstrs) {
    version_instrs_ += instrs.size();
    return emit_version(first, last, known, instrs);
  }
  builder_.if_then_else(
      body_->scalar(condition), [&] { emit_versions(first, last, if_true); },
      [&] { emit_versions(first, last, if_false); });
}

void KernelEmitter::emit_version(llvm::Value* first, llvm::Value* last, const Outcomes& known,
                                 const std::vector<ValueId>& instrs) {
  std::vector<std::pair<ValueId, llvm::Value*>> before;
  for (size_t i = 0; i < program_.body.size(); ++i) {
    const ValueId id = static_cast<ValueId>(i);
    const std::optional<bool> outcome = known.of(id);
    if (!outcome) continue;
    before.emplace_back(id, body_->scalar(id));
    body_->set_value(id, ir_.getInt1(*outcome));
  }
  auto emit_vector = [&](llvm::Value* i) {
    body_->set_lane_start(i);
    prefetch_lanes(instrs);
    for (const ValueId id : instrs) {
      const fusion::Instr& instr = program_.body[id];
      if (const std::optional<ValueId> operand = known.selected(instr)) {
        body_->set_value(id, body_->round(instr.dtype, body_->value(*operand)));
      } else {
        body_->emit(id);
      }
    }
    for (const fusion::Store& store : plan_.before[0].stores) body_->emit_store(store);
  };
  if (has_narrow_tail(instrs)) {
    emit_with_narrow_tail(first, last, emit_vector);
  } else {
    const auto body = [&](llvm::Value* i, const Values&) {
      emit_vector(i);
      return Values{};
    };
    if (program_.runs_cut_lines && host().masked_vectors) {
      aligned_loop(first, last, emit_vector);
    } else if (has_whole_loop(instrs)) {
      split_loop(emit_shifted_reads(first, last, last, emit_vector), last, {}, body);
    } else {
      lane_loop(first, last, {}, body);
    }
    body_->set_active(nullptr);
  }
  for (const auto& [id, value] : before) body_->set_value(id, value);
}

void KernelEmitter::aligned_loop(llvm::Value* first, llvm::Value* last,
                                 const std::function<void(llvm::Value*)>& emit_vector) {
  const uint16_t access = program_.stores[0].access;
  const auto size = static_cast<int64_t>(size_of(program_.accesses[access].dtype));
  body_->set_lane_start(first);
  llvm::Value* address = ir_.CreatePtrToInt(body_->row_pointer(access), ir_.getInt64Ty());
  llvm::Value* bytes = ir_.CreateAnd(ir_.CreateNeg(address), fusion::kNontemporalAlignment - 1);
  llvm::Value* elements = ir_.CreateUDiv(bytes, builder_.index(size));
  llvm::Value* begin = builder_.min(ir_.CreateAdd(first, elements), last);
  llvm::Value* whole = ir_.CreateAnd(ir_.CreateSub(last, begin), -int64_t{builder_.lanes()});
  llvm::Value* end = ir_.CreateAdd(begin, whole);
  const auto body = [&](llvm::Value* i, const Values&) {
    emit_vector(i);
    return Values{};
  };
  emit_parts(
      first, begin, end, last,
      [&](llvm::Value* from, llvm::Value* to) {
        body_->set_active(nullptr);
        from = emit_shifted_reads(from, to, last, emit_vector);
        builder_.loop(from, to, builder_.index(builder_.lanes()), {}, body);
      },
      [&](llvm::Value* from, llvm::Value* to) { masked_loop(from, to, {}, body); });
}

int KernelEmitter::weight_of(const std::vector<ValueId>& instrs) const {
  int weight = 0;
  for (const ValueId id : instrs) {
    weight += fusion::weight_of(program_.body[id].op, program_.body[id].dtype);
  }
  return weight;
}

bool KernelEmitter::has_narrow_tail(const std::vector<ValueId>& instrs) const {
  return !host().masked_vectors && weight_of(instrs) <= kLightWeight;
}

bool KernelEmitter::has_whole_loop(const std::vector<ValueId>& instrs) const {
  constexpr int kMaxWeight = 128;
  // So many bytes of a point, one after another, take longer than its instructions.
  constexpr size_t kManyBytes = 16;
  if (!host().masked_vectors) return false;
  size_t bytes = 0;
  bool is_consecutive = true;
  for (const fusion::Access& access : program_.accesses) {
    if (access.lanes != fusion::StrideClass::kZero) bytes += size_of(access.dtype);
    is_consecutive = is_consecutive && access.lanes != fusion::StrideClass::kAny;
  }
  const int weight = weight_of(instrs);
  const bool is_stream = weight <= kLightWeight && is_consecutive && bytes >= kManyBytes;
  return weight <= kMaxWeight && (host().masks_slow_streams || !is_stream);
}

void KernelEmitter::emit_with_narrow_tail(llvm::Value* first, llvm::Value* last,
                                          const std::function<void(llvm::Value*)>& body) {
  constexpr int kFewestLanes = 4;
  body_->set_active(nullptr);
  auto rounds = [&](llvm::Value* begin, llvm::Value* end) {
    builder_.loop(begin, end, builder_.index(builder_.lanes()), {},
                  [&](llvm::Value* i, const Values&) {
                    body(i);
                    return Values{};
                  });
  };
  auto end_of_whole = [&](llvm::Value* begin) {
    llvm::Value* whole = ir_.CreateAnd(ir_.CreateSub(last, begin), -int64_t{builder_.lanes()});
    return ir_.CreateAdd(begin, whole);
  };
  llvm::Value* tail = end_of_whole(first);
  rounds(first, tail);
  builder_.if_then(ir_.CreateICmpSLT(tail, last), /*likely=*/true, [&] {
    for (int lanes = builder_.lanes() / 2; lanes >= kFewestLanes; lanes /= 2) {
      LaneScope narrow(lanes);
      llvm::Value* end = end_of_whole(tail);
      rounds(tail, end);
      tail = end;
    }
    LaneScope scalar(1);
    rounds(tail, last);
  });
}

}  // namespace sluice::kernels
