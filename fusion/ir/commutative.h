// Ops whose two operands may change places.
#ifndef SLUICE_FUSION_IR_COMMUTATIVE_H_
#define SLUICE_FUSION_IR_COMMUTATIVE_H_

#include "fusion/ir/op.h"

namespace sluice::fusion {

// True if op(x, y) and op(y, x) are equal.
inline bool is_commutative(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kMul:
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kLogicalAnd:
    case Op::kLogicalOr:
    case Op::kLogicalXor:
    case Op::kBitwiseAnd:
    case Op::kBitwiseOr:
    case Op::kBitwiseXor:
    case Op::kLogAddExp:
    case Op::kMaximum:
    case Op::kMinimum: return true;
    default: return false;
  }
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_IR_COMMUTATIVE_H_
