#include "kernels/llvm/body/outcomes.h"

#include <algorithm>

namespace sluice::kernels {

using fusion::Instr;
using fusion::Op;
using fusion::ValueId;

void Outcomes::learn(ValueId condition, bool outcome) {
  assume(condition, outcome);
  for (size_t i = 0; i < outcomes_.size(); ++i) {
    if (outcomes_[i] == kOpen) outcomes_[i] = concluded(program_->body[i]);
  }
}

void Outcomes::assume(ValueId condition, bool outcome) {
  outcomes_[condition] = outcome ? kTrue : kFalse;
  const Instr& instr = program_->body[condition];
  if (instr.op == Op::kLogicalNot) {
    assume(instr.operands[0], !outcome);
  } else if (instr.op == (outcome ? Op::kLogicalAnd : Op::kLogicalOr)) {
    assume(instr.operands[0], outcome);
    assume(instr.operands[1], outcome);
  }
}

Outcomes::State Outcomes::concluded(const Instr& instr) const {
  if (instr.op == Op::kLogicalNot) {
    const State operand = outcomes_[instr.operands[0]];
    return operand == kOpen ? kOpen : operand == kTrue ? kFalse : kTrue;
  }
  if (instr.op != Op::kLogicalAnd && instr.op != Op::kLogicalOr) return kOpen;
  const State a = outcomes_[instr.operands[0]], b = outcomes_[instr.operands[1]];
  const State decides = instr.op == Op::kLogicalAnd ? kFalse : kTrue;
  if (a == decides || b == decides) return decides;
  return a == b ? a : kOpen;
}

std::optional<ValueId> Outcomes::selected(const Instr& instr) const {
  if (instr.op == Op::kLogicalAnd || instr.op == Op::kLogicalOr) {
    const State neutral = instr.op == Op::kLogicalAnd ? kTrue : kFalse;
    for (int k = 0; k < 2; ++k) {
      if (outcomes_[instr.operands[k]] == neutral) return instr.operands[1 - k];
    }
    return std::nullopt;
  }
  if (fusion::op_info(instr.op).rule != fusion::TypeRule::kSelect) return std::nullopt;
  const State condition = outcomes_[instr.operands[0]];
  if (condition == kOpen) return std::nullopt;
  return instr.operands[condition == kTrue ? 1 : 2];
}

std::vector<ValueId> Outcomes::needed(const std::vector<ValueId>& instrs) const {
  std::vector<bool> wanted(program_->body.size(), false);
  for (const fusion::Store& store : program_->stores) wanted[store.value] = true;
  std::vector<ValueId> result;
  for (auto id = instrs.rbegin(); id != instrs.rend(); ++id) {
    const Instr& instr = program_->body[*id];
    if (!wanted[*id] && instr.op != Op::kCheckIndex) continue;
    result.push_back(*id);
    if (const std::optional<ValueId> operand = selected(instr)) {
      wanted[*operand] = true;
      continue;
    }
    for (int k = 0; k < instr.num_operands; ++k) wanted[instr.operands[k]] = true;
  }
  std::reverse(result.begin(), result.end());
  return result;
}

}  // namespace sluice::kernels
