// Peephole rewriting, of which the passes of simplify.h are made: one forward walk over a body that
// writes a new one by a rule.
#ifndef SLUICE_FUSION_REWRITE_REWRITER_H_
#define SLUICE_FUSION_REWRITE_REWRITER_H_

#include <initializer_list>
#include <vector>

#include "absl/functional/function_ref.h"
#include "fusion/ir/program.h"

namespace sluice::fusion {

// The new body, as far as it has been written. Ids are those of the new body.
class Rewriter {
 public:
  explicit Rewriter(const Program& program);
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;

  const Instr& operator[](ValueId value) const { return instrs_[value]; }
  bool is(ValueId value, Op op) const { return instrs_[value].op == op; }
  DType dtype(ValueId value) const { return instrs_[value].dtype; }
  Level level(ValueId value) const { return instrs_[value].level; }
  ValueId operand(ValueId value, int k = 0) const { return instrs_[value].operands[k]; }
  // The id that the next instruction gets.
  ValueId next() const { return static_cast<ValueId>(size_); }

  // True if `value` has at most one use, stores included. Uses by instructions that the walk has
  // made dead count until they are removed.
  bool used_once(ValueId value) const { return (is_copy_ ? uses_ : old_uses())[value] <= 1; }
  // True if a rule may drop an operand. False where that could lose a kCheckIndex: nothing else may
  // need the pass over the row in which it runs.
  bool may_drop_operands() const { return !checks_in_passes_; }

  // Appends a pointwise instruction or a cast; returns its id.
  ValueId emit(Op op, DType dtype, std::initializer_list<ValueId> operands);

 private:
  friend bool rewrite(Program* program,
                      absl::FunctionRef<ValueId(Rewriter& body, const Instr& instr)> rule);

  void copy();
  void keep(const Instr& instr, int uses);
  // Of the whole old body. Most walks do not ask.
  const std::vector<int>& old_uses() const;

  const Program& old_;
  const Instr* instrs_;
  size_t size_ = 0;
  // Most walks change nothing: the new body is the beginning of the old one until they do.
  bool is_copy_ = false;
  std::vector<Instr> body_;
  std::vector<int> uses_;
  mutable std::vector<int> old_uses_;
  const bool checks_in_passes_;
};

// Asks `rule` which value replaces each instruction; kNoValue keeps the instruction. `instr`
// already has operands of the new body. Replacements of another level are ignored: a reduction's
// operand has to vary along the row. Returns true if a value was replaced. Bodies so long that ids
// could overflow are left as they are.
bool rewrite(Program* program, absl::FunctionRef<ValueId(Rewriter& body, const Instr& instr)> rule);

// ---- Exact rules.

// Merges a cast of a cast into one, where one gives the same values.
ValueId merge_casts(Rewriter& body, const Instr& instr);
// Removes signs that cancel or have no effect; makes others part of an addition or subtraction.
ValueId cancel_signs(Rewriter& body, const Instr& instr);
// Writes bool ops as logical ops; removes double negation.
ValueId simplify_logic(Rewriter& body, const Instr& instr);
// Writes comparisons as less and less_equal, and negated comparisons as their opposites.
ValueId simplify_comparisons(Rewriter& body, const Instr& instr);
// Removes selects between equal values and negated masks; writes selects of bools as logical ops.
ValueId simplify_selects(Rewriter& body, const Instr& instr);
// Removes ops that return their operand: idempotent ops applied twice, op(x, x).
ValueId drop_repetitions(Rewriter& body, const Instr& instr);
// Writes two instructions as the one that is defined as both.
ValueId join_compounds(Rewriter& body, const Instr& instr);
// Orders the operands of commutative ops by id, so that equal instructions are found.
ValueId order_operands(Rewriter& body, const Instr& instr);

// ---- Fast-math rules.

// Recognizes mish, silu and softplus composed of other ops.
ValueId find_activations(Rewriter& body, const Instr& instr);
// Writes a product of two exponentials as the exponential of a sum.
ValueId join_exponentials(Rewriter& body, const Instr& instr);
// Writes a division by a value that is constant along the row as a product with its reciprocal.
ValueId hoist_reciprocals(Rewriter& body, const Instr& instr);
// Writes the reciprocal of a square root of halves as rsqrt. The exact rules may not: there are two
// roundings.
ValueId join_reciprocal_roots(Rewriter& body, const Instr& instr);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_REWRITE_REWRITER_H_
