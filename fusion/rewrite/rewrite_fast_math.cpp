// Rules that change results slightly. Intermediate values with other uses are kept.
#include "fusion/rewrite/rewriter.h"

#include <utility>

namespace sluice::fusion {
namespace {

// True if `value` is log(1 + e^x).
bool is_softplus_of(const Rewriter& body, ValueId value, ValueId x) {
  if (body.is(value, Op::kSoftplus)) return body.operand(value) == x;
  if (!body.is(value, Op::kLog1p)) return false;
  const ValueId e = body.operand(value);
  return body.is(e, Op::kExp) && body.operand(e) == x;
}

}  // namespace

ValueId find_activations(Rewriter& body, const Instr& instr) {
  const auto [a, b, unused] = instr.operands;
  if (instr.op == Op::kLog1p && body.is(a, Op::kExp) && body.used_once(a)) {
    return body.emit(Op::kSoftplus, instr.dtype, {body.operand(a)});
  }
  if (instr.op != Op::kMul) return kNoValue;
  for (const auto& [x, factor] : {std::pair(a, b), std::pair(b, a)}) {
    if (!body.used_once(factor)) continue;
    if (body.is(factor, Op::kSigmoid) && body.operand(factor) == x) {
      return body.emit(Op::kSilu, instr.dtype, {x});
    }
    if (body.is(factor, Op::kTanh) && is_softplus_of(body, body.operand(factor), x)) {
      return body.emit(Op::kMish, instr.dtype, {x});
    }
  }
  return kNoValue;
}

ValueId join_exponentials(Rewriter& body, const Instr& instr) {
  const auto [a, b, unused] = instr.operands;
  if (instr.op != Op::kMul || a == b || !body.is(a, Op::kExp) || !body.is(b, Op::kExp)) {
    return kNoValue;
  }
  // If only one of them is computed once a row, joining would add work for each element.
  if (!body.used_once(a) || !body.used_once(b) || body.level(a) != body.level(b)) return kNoValue;
  const ValueId sum = body.emit(Op::kAdd, instr.dtype, {body.operand(a), body.operand(b)});
  return body.emit(Op::kExp, instr.dtype, {sum});
}

ValueId hoist_reciprocals(Rewriter& body, const Instr& instr) {
  const auto [a, b, unused] = instr.operands;
  if (instr.op != Op::kDiv || body.level(b) == instr.level) return kNoValue;
  // The reciprocal of a float16 easily overflows or underflows.
  if (instr.dtype == DType::kFloat16) return kNoValue;
  return body.emit(Op::kMul, instr.dtype, {a, body.emit(Op::kReciprocal, instr.dtype, {b})});
}

ValueId join_reciprocal_roots(Rewriter& body, const Instr& instr) {
  const ValueId a = instr.operands[0];
  if (instr.op != Op::kReciprocal || !body.is(a, Op::kSqrt) || !body.used_once(a)) return kNoValue;
  return body.emit(Op::kRsqrt, instr.dtype, {body.operand(a)});
}

}  // namespace sluice::fusion
