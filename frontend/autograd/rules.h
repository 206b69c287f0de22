// The gradient of each op.
#ifndef SLUICE_FRONTEND_AUTOGRAD_RULES_H_
#define SLUICE_FRONTEND_AUTOGRAD_RULES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sluice/tensor.h>
#include "absl/container/flat_hash_map.h"
#include "frontend/autograd/tape.h"
#include "fusion/ir/op.h"

namespace sluice::frontend {

// What errors of a rule name: the call that asked for gradients.
inline constexpr const char* kGradients = "gradients";

// The values that rules ask for: what the tape keeps, or computed again. Each is computed once.
class Values {
 public:
  Values() : outer_(std::exchange(innermost_, this)) {}
  ~Values() { innermost_ = outer_; }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  // Operand k of the op, in `dtype`. A scalar is a tensor without axes.
  Tensor operand(const Tape& tape, size_t k, DType dtype);
  // What the entry is of. Its values are known to be there: is_recipe, or a rule that needs
  // kResult.
  Tensor result(Tape* tape);
  // Won't be asked for again.
  void forget(Tape* tape) { computed_.erase(tape); }

  // For eviction.h: those of this thread, and what they keep.
  static Values* innermost() { return innermost_; }
  Values* outer() const { return outer_; }
  std::vector<Tape*> computed() const;  // the newest first
  const Tensor& computed(Tape* tape) const { return computed_.find(tape)->second.value; }
  engine::NodeRef take_computed(Tape* tape) {
    return std::move(computed_.extract(tape).mapped().value).release();
  }

 private:
  static SLUICE_FAST_TLS Values* innermost_;

  struct Computed {
    Tensor value;
    uint64_t number;
  };

  Tensor compute(Tape* tape);

  Values* const outer_;
  absl::flat_hash_map<Tape*, Computed> computed_;
  uint64_t num_computed_ = 0;
};

// What a rule is given: the op and the gradient of its result, in the result's dtype.
struct Backward {
  Tape& tape;
  const Tensor& g;
  Values& values;

  const Shape& operand_shape(size_t k) const { return tape.operands[k].tape->shape; }
  Tensor operand(size_t k) const { return values.operand(tape, k, tape.operand_dtype); }
  // Operand 1 of gathers and scatters.
  Tensor indices() const { return values.operand(tape, 1, DType::kInt64); }
  // Of ops whose first attribute it is.
  int axis() const { return static_cast<int>(tape.attrs[0]); }
  Tensor result() const { return values.result(&tape); }
};

// Values that a rule needs, as bits.
enum Needs : uint8_t { kNothing = 0, kA = 1, kB = 2, kC = 4, kResult = 8 };

// Elements of the gradient of an operand, by those of that of the result (g), of the operands and
// of the result (y).
using Formula = Tensor (*)(const Tensor& g, const Tensor& a, const Tensor& b, const Tensor& c,
                           const Tensor& y);

// Rules are about operands 0, 1, and 2 and all that follow.
struct OpRule {
  // That of operand k, in any float dtype, of a shape that broadcasting made of the operand's.
  // Null: the op has no gradient.
  Tensor (*gradient)(const Backward& backward, size_t k) = nullptr;
  std::array<bool, 3> has_gradient{};  // else it is zero
  std::array<uint8_t, 3> needs{};
  std::array<Formula, 3> formulas{};  // of ops that apply to each element

  bool has(size_t k) const { return has_gradient[std::min<size_t>(k, 2)]; }
  uint8_t needs_of(size_t k) const { return needs[std::min<size_t>(k, 2)]; }
};

using RuleTable = std::array<OpRule, fusion::kNumOps>;
const RuleTable& rules();
inline const OpRule& rule_of(fusion::Op op) { return rules()[static_cast<size_t>(op)]; }

void add_pointwise_rules(RuleTable* table);
void add_view_rules(RuleTable* table);       // views, and what lays tensors together
void add_reduction_rules(RuleTable* table);  // reductions, scans, products, gathers and scatters
void add_order_rules(RuleTable* table);      // sorts, running extrema, scatters of extrema
void add_linalg_rules(RuleTable* table);
void add_convolution_rules(RuleTable* table);

inline void add_rule(RuleTable* table, fusion::Op op, std::array<bool, 3> has_gradient,
                     std::array<uint8_t, 3> needs,
                     Tensor (*gradient)(const Backward& backward, size_t k)) {
  (*table)[static_cast<size_t>(op)] = {gradient, has_gradient, needs, {}};
}

// g summed over the axes along which `shape` was broadcast to g's.
Tensor sum_to(const Tensor& g, const Shape& shape);

// g, of an op that reduced `axes` of a tensor of this shape, broadcast to the shape.
Tensor spread(const Tensor& g, absl::Span<const int64_t> axes, const Shape& shape);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_AUTOGRAD_RULES_H_
