// The gradients of element-wise ops.
#include <cmath>
#include <numbers>

#include <sluice/ops.h>
#include "frontend/autograd/rules.h"

namespace sluice::frontend {
namespace {

using fusion::Op;

// (cos(pi * x) - sinc(x)) / x; near 0, where these cancel, the first terms of its series.
Tensor derivative_of_sinc(const Tensor& x) {
  constexpr double kPi2 = std::numbers::pi * std::numbers::pi;
  const Tensor is_near = abs(x) < 0.1;
  const Tensor far = where(is_near, 1, x);
  const Tensor u = square(x) * kPi2;
  const Tensor series = x * -kPi2 * (1. / 3 - u * (1. / 30 - u * (1. / 840 - u * (1. / 45360))));
  return where(is_near, series, (cos(far * std::numbers::pi) - sinc(far)) / far);
}

// 1 where a > b, 0 where it is less, half where they are equal: how much of maximum(a, b) is a.
Tensor share_of_greater(const Tensor& a, const Tensor& b) {
  return where(a == b, 0.5, astype(a > b, a.dtype()));
}

// g and the values in a type that rounds nothing more than once. Conditions stay bool.
Tensor pointwise(const Backward& backward, size_t k) {
  const Tape& tape = backward.tape;
  const OpRule& rule = rule_of(tape.op);
  const DType dtype = compute_type(tape.operand_dtype);
  const uint8_t needs = rule.needs[k];
  std::array<Tensor, 3> operands;
  for (size_t i = 0; i < tape.operands.size(); ++i) {
    const bool is_condition = tape.op == Op::kWhere && i == 0;
    if ((needs & 1 << i) == 0) continue;
    operands[i] = backward.values.operand(tape, i, is_condition ? DType::kBool : dtype);
  }
  Tensor y;
  if ((needs & kResult) != 0) y = astype(backward.result(), dtype);
  return rule.formulas[k](astype(backward.g, dtype), operands[0], operands[1], operands[2], y);
}

// The casts of a value are gradients of one another.
Tensor cast(const Backward& backward, size_t) { return backward.g; }

}  // namespace

void add_pointwise_rules(RuleTable* table) {
  const auto add = [&](Op op, size_t operand, int needs, Formula formula) {
    OpRule& rule = (*table)[static_cast<size_t>(op)];
    rule.gradient = pointwise;
    rule.has_gradient[operand] = true;
    rule.needs[operand] = static_cast<uint8_t>(needs);
    rule.formulas[operand] = formula;
  };
#define SLUICE_GRADIENT(id, operand, values, ...)                            \
  add(Op::k##id, operand, values,                                            \
      []([[maybe_unused]] const Tensor& g, [[maybe_unused]] const Tensor& a, \
         [[maybe_unused]] const Tensor& b, [[maybe_unused]] const Tensor& c, \
         [[maybe_unused]] const Tensor& y) -> Tensor { return __VA_ARGS__; });
#include "frontend/autograd/gradients.def"
  add_rule(table, Op::kCast, {true}, {}, cast);
}

}  // namespace sluice::frontend
