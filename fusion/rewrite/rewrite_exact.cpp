// Rules that change no bit. Each has to hold for what kernels/math computes, not just for real
// numbers: the sum of x and 0, for example, is not x if that is -0.
#include "fusion/rewrite/rewriter.h"

#include <utility>

#include "fusion/ir/commutative.h"

namespace sluice::fusion {
namespace {

// The width in bits of a dtype's integers or significands, without the sign.
int digits_of(DType dtype) {
  constexpr uint8_t kDigits[kNumDTypes] = {1, 7, 15, 31, 63, 8, 16, 32, 64, 11, 8, 24, 53};
  return kDigits[static_cast<int>(dtype)];
}

// True if `to` can represent every value of `from`.
bool holds(DType to, DType from) {
  if (from == to) return true;
  if (is_float(from)) return is_float(to) && !is_half(to) && digits_of(from) < digits_of(to);
  if (kind_of(from) == DTypeKind::kSigned && !is_float(to) && kind_of(to) != DTypeKind::kSigned) {
    return false;
  }
  return digits_of(from) <= digits_of(to);
}

// True if a cast from `a` to `b` and then to `c` equals a cast from `a` to `c`.
bool is_one_cast(DType a, DType b, DType c) {
  if (holds(b, a)) {
    // Casts from floats to integers saturate; casts between integers wrap.
    return !(is_integer(a) && is_float(b) && is_integer(c)) || holds(c, a);
  }
  if (is_integer(a) && c == DType::kBool) return is_float(b);  // only 0 becomes 0
  if (is_integer(a) && is_integer(b) && is_integer(c)) return size_of(c) <= size_of(b);
  return b == DType::kFloat32 && is_half(c);  // halves are always rounded from float32
}

bool is_unsigned(DType dtype) { return kind_of(dtype) == DTypeKind::kUnsigned; }

// True if the sign bit of `value` is known to be clear, unless it is NaN.
bool has_no_sign(const Rewriter& body, ValueId value) {
  const Instr& instr = body[value];
  if (is_unsigned(instr.dtype)) return true;
  if (!is_float(instr.dtype)) return false;
  switch (instr.op) {
    case Op::kAbs:
    case Op::kSquare:
    case Op::kExp:
    case Op::kExp2:
    case Op::kSigmoid: return true;
    case Op::kCast: {
      const DType from = body.dtype(instr.operands[0]);
      return from == DType::kBool || is_unsigned(from);
    }
    default: return false;
  }
}

// Rounding is symmetric, so a negated operand of a product or quotient negates the result exactly.
bool is_product(const Rewriter& body, ValueId value) {
  return body.is(value, Op::kMul) || body.is(value, Op::kDiv);
}

// True if -value costs no more than `value`.
bool is_negated(const Rewriter& body, ValueId value) {
  if (body.is(value, Op::kNeg)) return true;
  return is_product(body, value) && body.used_once(value) &&
         (body.is(body.operand(value, 0), Op::kNeg) || body.is(body.operand(value, 1), Op::kNeg));
}
// -value, given that is_negated(value).
ValueId negation_of(Rewriter& body, ValueId value) {
  const Instr instr = body[value];
  if (instr.op == Op::kNeg) return instr.operands[0];
  const auto [a, b, unused] = instr.operands;
  return body.is(a, Op::kNeg) ? body.emit(instr.op, instr.dtype, {body.operand(a), b})
                              : body.emit(instr.op, instr.dtype, {a, body.operand(b)});
}

// True if op(x), op(-x) and op(|x|) are equal.
bool ignores_sign(Op op, DType dtype) {
  switch (op) {
    case Op::kAbs: return !is_unsigned(dtype);
    case Op::kSquare:
    case Op::kIsNan:
    case Op::kIsInf:
    case Op::kIsFinite: return true;
    default: return false;
  }
}

bool rounds_to_integer(Op op) {
  return op == Op::kFloor || op == Op::kCeil || op == Op::kRound || op == Op::kTrunc;
}
bool is_whole(const Rewriter& body, ValueId value) {
  const Instr& instr = body[value];
  if (!is_float(instr.dtype) || rounds_to_integer(instr.op) || instr.op == Op::kSign) return true;
  return instr.op == Op::kCast && !is_float(body.dtype(instr.operands[0]));
}

// True if op(x, x) is x.
bool is_idempotent(Op op) {
  switch (op) {
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kLogicalAnd:
    case Op::kLogicalOr:
    case Op::kBitwiseAnd:
    case Op::kBitwiseOr:
    case Op::kCopySign: return true;
    default: return false;
  }
}

// The logical op that `op` is on bools; `op` itself if there is none.
Op logical_op(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kMaximum:
    case Op::kBitwiseOr: return Op::kLogicalOr;
    case Op::kMul:
    case Op::kMinimum:
    case Op::kBitwiseAnd: return Op::kLogicalAnd;
    case Op::kNotEqual:
    case Op::kBitwiseXor: return Op::kLogicalXor;
    default: return op;
  }
}

bool is_not(const Rewriter& body, ValueId value, ValueId of) {
  return body.is(value, Op::kLogicalNot) && body.operand(value) == of;
}

}  // namespace

ValueId merge_casts(Rewriter& body, const Instr& instr) {
  if (instr.op != Op::kCast) return kNoValue;
  const ValueId middle = instr.operands[0];
  if (body.dtype(middle) == instr.dtype) return middle;
  if (!body.is(middle, Op::kCast)) return kNoValue;
  const ValueId source = body.operand(middle);
  const DType from = body.dtype(source);
  if (!is_one_cast(from, body.dtype(middle), instr.dtype)) return kNoValue;
  return from == instr.dtype ? source : body.emit(Op::kCast, instr.dtype, {source});
}

ValueId cancel_signs(Rewriter& body, const Instr& instr) {
  const auto [a, b, unused] = instr.operands;
  switch (instr.op) {
    case Op::kNeg: return is_negated(body, a) ? negation_of(body, a) : kNoValue;
    case Op::kAdd:
      if (instr.dtype == DType::kBool) return kNoValue;
      if (is_negated(body, b)) return body.emit(Op::kSub, instr.dtype, {a, negation_of(body, b)});
      if (is_negated(body, a)) return body.emit(Op::kSub, instr.dtype, {b, negation_of(body, a)});
      return kNoValue;
    case Op::kSub:
      if (is_negated(body, b)) return body.emit(Op::kAdd, instr.dtype, {a, negation_of(body, b)});
      return kNoValue;
    case Op::kMul:
    case Op::kDiv: {
      if (!is_negated(body, a) || !is_negated(body, b)) return kNoValue;
      const ValueId negated_a = negation_of(body, a);
      return body.emit(instr.op, instr.dtype, {negated_a, negation_of(body, b)});
    }
    case Op::kCopySign:
      if (!body.is(a, Op::kNeg) && !body.is(a, Op::kAbs)) return kNoValue;
      return body.emit(instr.op, instr.dtype, {body.operand(a), b});
    default: break;
  }
  if (instr.num_operands == 1 && ignores_sign(instr.op, body.dtype(a)) &&
      (body.is(a, Op::kNeg) || body.is(a, Op::kAbs))) {
    return body.emit(instr.op, instr.dtype, {body.operand(a)});
  }
  return kNoValue;
}

ValueId simplify_logic(Rewriter& body, const Instr& instr) {
  const auto [a, b, unused] = instr.operands;
  const bool negates = instr.op == Op::kLogicalNot || instr.op == Op::kBitwiseNot;
  if (negates && body.is(a, instr.op)) return body.operand(a);
  if (instr.dtype != DType::kBool) return kNoValue;
  if (instr.op == Op::kBitwiseNot) return body.emit(Op::kLogicalNot, DType::kBool, {a});
  const Op op = logical_op(instr.op);
  if (op == instr.op || body.dtype(a) != DType::kBool) return kNoValue;
  return body.emit(op, DType::kBool, {a, b});
}

ValueId simplify_comparisons(Rewriter& body, const Instr& instr) {
  auto compare = [&](Op op, ValueId a, ValueId b) { return body.emit(op, DType::kBool, {a, b}); };
  const auto [a, b, unused] = instr.operands;
  switch (instr.op) {
    case Op::kGreater: return compare(Op::kLess, b, a);
    case Op::kGreaterEqual: return compare(Op::kLessEqual, b, a);
    case Op::kNotEqual: return a == b ? body.emit(Op::kIsNan, DType::kBool, {a}) : kNoValue;
    case Op::kLogicalNot: break;
    default: return kNoValue;
  }
  const auto [x, y, none] = body[a].operands;
  switch (body[a].op) {
    case Op::kEqual: return compare(Op::kNotEqual, x, y);
    case Op::kNotEqual: return compare(Op::kEqual, x, y);
    // Not for floats: of NaN, both comparisons are false.
    case Op::kLess: return is_float(body.dtype(x)) ? kNoValue : compare(Op::kLessEqual, y, x);
    case Op::kLessEqual: return is_float(body.dtype(x)) ? kNoValue : compare(Op::kLess, y, x);
    default: return kNoValue;
  }
}

ValueId simplify_selects(Rewriter& body, const Instr& instr) {
  if (instr.op != Op::kWhere) return kNoValue;
  const auto [mask, a, b] = instr.operands;
  auto where = [&](ValueId m, ValueId x, ValueId y) {
    return body.emit(Op::kWhere, instr.dtype, {m, x, y});
  };
  if (body.is(mask, Op::kLogicalNot)) return where(body.operand(mask), b, a);
  if (body.may_drop_operands()) {
    if (a == b) return a;
    if (body.is(a, Op::kWhere) && body.operand(a) == mask)
      return where(mask, body.operand(a, 1), b);
    if (body.is(b, Op::kWhere) && body.operand(b) == mask)
      return where(mask, a, body.operand(b, 2));
  }
  if (instr.dtype != DType::kBool) return kNoValue;
  auto logical = [&](Op op, ValueId x, ValueId y) { return body.emit(op, DType::kBool, {x, y}); };
  if (a == mask) return logical(Op::kLogicalOr, mask, b);
  if (b == mask) return logical(Op::kLogicalAnd, mask, a);
  if (is_not(body, a, mask)) return logical(Op::kLogicalAnd, a, b);
  if (is_not(body, b, mask)) return logical(Op::kLogicalOr, b, a);
  return kNoValue;
}

ValueId drop_repetitions(Rewriter& body, const Instr& instr) {
  const auto [a, b, unused] = instr.operands;
  if (rounds_to_integer(instr.op)) return is_whole(body, a) ? a : kNoValue;
  switch (instr.op) {
    case Op::kAbs: return body.is(a, Op::kAbs) || has_no_sign(body, a) ? a : kNoValue;
    case Op::kRelu: return body.is(a, Op::kRelu) || has_no_sign(body, a) ? a : kNoValue;
    case Op::kSign: return body.is(a, Op::kSign) ? a : kNoValue;
    default: break;
  }
  if (!is_idempotent(instr.op)) return kNoValue;
  if (a == b) return a;
  // op(op(x, y), x) is op(x, y).
  if (!is_commutative(instr.op)) return kNoValue;
  for (const auto& [whole, part] : {std::pair(a, b), std::pair(b, a)}) {
    if (body.is(whole, instr.op) &&
        (body.operand(whole, 0) == part || body.operand(whole, 1) == part)) {
      return whole;
    }
  }
  return kNoValue;
}

ValueId join_compounds(Rewriter& body, const Instr& instr) {
  const auto [a, b, unused] = instr.operands;
  switch (instr.op) {
    case Op::kMul:
      if (a != b || instr.dtype == DType::kBool) return kNoValue;
      return body.emit(Op::kSquare, instr.dtype, {a});
    case Op::kReciprocal:
      if (!body.is(a, Op::kSqrt) || is_half(instr.dtype) || !body.used_once(a)) return kNoValue;
      return body.emit(Op::kRsqrt, instr.dtype, {body.operand(a)});
    case Op::kMinimum: {
      if (instr.dtype == DType::kBool) return kNoValue;
      const bool swapped = !body.is(a, Op::kMaximum);
      const auto [inner, high] = swapped ? std::pair(b, a) : std::pair(a, b);
      // A value computed once a row must not become one computed once an element.
      if (!body.is(inner, Op::kMaximum) || !body.used_once(inner) ||
          body.level(inner) != instr.level) {
        return kNoValue;
      }
      return body.emit(Op::kClip, instr.dtype,
                       {body.operand(inner, 0), body.operand(inner, 1), high});
    }
    default: return kNoValue;
  }
}

ValueId order_operands(Rewriter& body, const Instr& instr) {
  const auto [a, b, unused] = instr.operands;
  if (instr.num_operands != 2 || a <= b || !is_commutative(instr.op)) return kNoValue;
  return body.emit(instr.op, instr.dtype, {b, a});
}

}  // namespace sluice::fusion
