// What the passes of simplify.h are made of: a walk over a body that writes a new one.
#ifndef SLUICE_FUSION_REWRITE_REWRITER_H_
#define SLUICE_FUSION_REWRITE_REWRITER_H_

#include <initializer_list>
#include <vector>

#include "absl/functional/function_ref.h"
#include "fusion/ir/program.h"

namespace sluice::fusion {

// The new body, as far as it is written.
class Rewriter {
 public:
  explicit Rewriter(const Program& program);

  const Instr& operator[](ValueId value) const { return body_[value]; }
  bool is(ValueId value, Op op) const { return body_[value].op == op; }
  DType dtype(ValueId value) const { return body_[value].dtype; }
  Level level(ValueId value) const { return body_[value].level; }
  ValueId operand(ValueId value, int k = 0) const { return body_[value].operands[k]; }
  // The id that the next instruction gets.
  ValueId next() const { return static_cast<ValueId>(body_.size()); }

  // True if no instruction but one, and no store, needs `value`. What a pass has made useless still
  // counts until it is removed.
  bool used_once(ValueId value) const { return uses_[value] <= 1; }
  // True if a value may stop needing an operand. A kCheckIndex below that would be lost if nothing
  // else needed its pass over the row.
  bool may_drop_operands() const { return !checks_in_passes_; }

  // A pointwise instruction or a cast.
  ValueId emit(Op op, DType dtype, std::initializer_list<ValueId> operands);

 private:
  friend bool rewrite(Program* program,
                      absl::FunctionRef<ValueId(Rewriter& body, const Instr& instr)> rule);

  std::vector<Instr> body_;
  std::vector<int> uses_;
  const bool checks_in_passes_;
};

// Asks `rule` for each instruction, whose operands are of the new body by then, which value is to
// stand for it; kNoValue: itself. A value of another level is refused: a reduction's operand has
// to vary along the row. True if a value was replaced. Very long bodies are left as they are.
bool rewrite(Program* program, absl::FunctionRef<ValueId(Rewriter& body, const Instr& instr)> rule);

// The rules. Exact ones:
//
// A cast of a cast, where one does.
ValueId merge_casts(Rewriter& body, const Instr& instr);
// Signs that cancel, that become a subtraction, or that don't matter.
ValueId cancel_signs(Rewriter& body, const Instr& instr);
// Bool ops by their logical names; no two negations.
ValueId simplify_logic(Rewriter& body, const Instr& instr);
// Only less and less_equal; no negated comparison where there is one that says the same.
ValueId simplify_comparisons(Rewriter& body, const Instr& instr);
// Choices that are none, or by a negated mask, or that a logical op makes.
ValueId simplify_selects(Rewriter& body, const Instr& instr);
// Ops that give their operand back.
ValueId drop_repetitions(Rewriter& body, const Instr& instr);
// One instruction that is defined as two.
ValueId join_compounds(Rewriter& body, const Instr& instr);
// Operands of symmetric ops in the order of their numbers.
ValueId order_operands(Rewriter& body, const Instr& instr);

// Fast math:
//
// mish, silu and softplus that are written out.
ValueId find_activations(Rewriter& body, const Instr& instr);
// One exponential for a product of two.
ValueId join_exponentials(Rewriter& body, const Instr& instr);
// A division by what is the same for a whole row, as a product with a reciprocal.
ValueId hoist_reciprocals(Rewriter& body, const Instr& instr);
// Reciprocal square roots of halves, which the exact passes have to round twice.
ValueId join_reciprocal_roots(Rewriter& body, const Instr& instr);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_REWRITE_REWRITER_H_
