#include "fusion/rewrite/rewriter.h"

#include <algorithm>
#include <utility>

namespace sluice::fusion {
namespace {

// A rule may write several instructions for one, and ValueId must not overflow.
constexpr size_t kMaxBody = kNoValue / 8;

}  // namespace

Rewriter::Rewriter(const Program& program)
    : checks_in_passes_(program.num_error_slots > 0 && program.reduced_rank > 0) {
  body_.reserve(program.body.size());
  uses_.reserve(program.body.size());
}

ValueId Rewriter::emit(Op op, DType dtype, std::initializer_list<ValueId> operands) {
  Instr instr;
  instr.op = op;
  instr.dtype = dtype;
  instr.level = Level::kUniform;
  for (ValueId operand : operands) {
    instr.level = std::max(instr.level, level(operand));
    instr.operands[instr.num_operands++] = operand;
    ++uses_[operand];
  }
  body_.push_back(instr);
  uses_.push_back(0);
  return static_cast<ValueId>(body_.size() - 1);
}

bool rewrite(Program* program,
             absl::FunctionRef<ValueId(Rewriter& body, const Instr& instr)> rule) {
  const std::vector<Instr>& old_body = program->body;
  if (old_body.size() > kMaxBody) return false;
  std::vector<int> old_uses(old_body.size(), 0);
  for (const Instr& instr : old_body) {
    for (int k = 0; k < instr.num_operands; ++k) ++old_uses[instr.operands[k]];
  }
  for (const Store& store : program->stores) ++old_uses[store.value];

  Rewriter body(*program);
  std::vector<ValueId> replacement(old_body.size());
  bool changed = false;
  for (size_t i = 0; i < old_body.size(); ++i) {
    Instr instr = old_body[i];
    for (int k = 0; k < instr.num_operands; ++k) instr.operands[k] = replacement[instr.operands[k]];
    ValueId value = rule(body, instr);
    if (value != kNoValue && body.level(value) == instr.level) {
      changed = true;
    } else {
      value = body.next();
      body.body_.push_back(instr);
      body.uses_.push_back(0);
    }
    replacement[i] = value;
    body.uses_[value] += old_uses[i];
  }
  if (!changed) return false;
  program->body = std::move(body.body_);
  for (Store& store : program->stores) store.value = replacement[store.value];
  return true;
}

}  // namespace sluice::fusion
