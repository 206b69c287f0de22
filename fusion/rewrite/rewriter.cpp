#include "fusion/rewrite/rewriter.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace sluice::fusion {
namespace {

// A rule may write several instructions for one, and ValueId must not overflow.
constexpr size_t kMaxBody = kNoValue / 8;

std::vector<int> count_uses(const Program& program) {
  std::vector<int> uses(program.body.size(), 0);
  for (const Instr& instr : program.body) {
    for (int k = 0; k < instr.num_operands; ++k) ++uses[instr.operands[k]];
  }
  for (const Store& store : program.stores) ++uses[store.value];
  return uses;
}

}  // namespace

Rewriter::Rewriter(const Program& program)
    : old_(program),
      instrs_(program.body.data()),
      checks_in_passes_(program.num_error_slots > 0 && program.reduced_rank > 0) {}

const std::vector<int>& Rewriter::old_uses() const {
  if (old_uses_.empty()) old_uses_ = count_uses(old_);
  return old_uses_;
}

void Rewriter::copy() {
  is_copy_ = true;
  body_.reserve(old_.body.size());
  body_.assign(instrs_, instrs_ + size_);
  uses_.reserve(old_.body.size());
  uses_.assign(old_uses().begin(), old_uses().begin() + static_cast<std::ptrdiff_t>(size_));
  instrs_ = body_.data();
}

void Rewriter::keep(const Instr& instr, int uses) {
  if (is_copy_) {
    body_.push_back(instr);
    uses_.push_back(uses);
    instrs_ = body_.data();
  }
  ++size_;
}

ValueId Rewriter::emit(Op op, DType dtype, std::initializer_list<ValueId> operands) {
  if (!is_copy_) copy();
  Instr instr;
  instr.op = op;
  instr.dtype = dtype;
  instr.level = Level::kUniform;
  for (ValueId operand : operands) {
    instr.level = std::max(instr.level, level(operand));
    instr.operands[instr.num_operands++] = operand;
    ++uses_[operand];
  }
  keep(instr, 0);
  return static_cast<ValueId>(size_ - 1);
}

bool rewrite(Program* program,
             absl::FunctionRef<ValueId(Rewriter& body, const Instr& instr)> rule) {
  const std::vector<Instr>& old_body = program->body;
  if (old_body.size() > kMaxBody) return false;
  Rewriter body(*program);
  std::vector<ValueId> replacement;  // once the new body is another than the old one
  bool changed = false;
  for (size_t i = 0; i < old_body.size(); ++i) {
    Instr instr = old_body[i];
    if (body.is_copy_) {
      for (int k = 0; k < instr.num_operands; ++k) {
        instr.operands[k] = replacement[instr.operands[k]];
      }
    }
    ValueId value = rule(body, instr);
    if (value == kNoValue && !body.is_copy_) {
      ++body.size_;
      continue;
    }
    const bool replaces = value != kNoValue && body.level(value) == instr.level;
    if (replaces && !body.is_copy_) body.copy();
    if (body.is_copy_ && replacement.empty()) {
      replacement.resize(old_body.size());
      std::iota(replacement.begin(), replacement.begin() + i, ValueId{0});
    }
    if (replaces) {
      changed = true;
      body.uses_[value] += body.old_uses()[i];
    } else {
      value = body.next();
      body.keep(instr, body.is_copy_ ? body.old_uses()[i] : 0);
    }
    if (body.is_copy_) replacement[i] = value;
  }
  if (!changed) return false;
  program->body = std::move(body.body_);
  for (Store& store : program->stores) store.value = replacement[store.value];
  return true;
}

}  // namespace sluice::fusion
