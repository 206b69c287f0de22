// Lowers pad and concat: each part is loaded under a predicate on the coordinates, so that memory
// outside it is not touched, and selects combine the parts.
#include "fusion/lower/group_lowering.h"

namespace sluice::fusion {

// low <= index < high, as bool.
ValueId GroupLowering::in_range(const Affine& index, int64_t low, int64_t high) {
  const ValueId at = builder_.coordinate(index);
  const ValueId from = builder_.emit(Op::kLessEqual, DType::kBool, {builder_.param(low), at});
  const ValueId to = builder_.emit(Op::kLess, DType::kBool, {at, builder_.param(high)});
  return builder_.both(from, to);
}

ValueId GroupLowering::padded(NodeId n, MapId map, ValueId predicate) {
  const NodeId operand = node(n).operands[0].node;
  const Shape& shape = node(operand).shape;
  IndexMap inner = maps_[map];
  ValueId inside = kNoValue;
  for (int k = 0; k < inner.rank; ++k) {
    const int64_t before = node(n).attrs[k];
    if (before == 0 && shape[k] == node(n).shape[k]) continue;
    inside = builder_.both(inside, in_range(inner.axes[k], before, before + shape[k]));
    inner.axes[k].offset -= before;
  }
  const ValueId fill = operand_value(n, 1, map, predicate);
  if (failed_) return kNoValue;
  const ValueId value = value_of(operand, maps_.intern(inner), builder_.both(predicate, inside));
  if (failed_ || inside == kNoValue) return value;
  return builder_.emit(Op::kWhere, node(n).dtype, {inside, value, fill});
}

ValueId GroupLowering::concatenated(NodeId n, MapId map, ValueId predicate) {
  const int axis = static_cast<int>(node(n).attrs[0]);
  const Affine index = maps_[map].axes[axis];
  ValueId result = kNoValue;
  int64_t start = 0;
  for (const GraphOperand& operand : node(n).operands) {
    const int64_t length = node(operand.node).shape[axis];
    if (length == 0) continue;
    const ValueId inside = in_range(index, start, start + length);
    IndexMap inner = maps_[map];
    inner.axes[axis].offset -= start;
    ValueId value = value_of(operand.node, maps_.intern(inner), builder_.both(predicate, inside));
    if (failed_) return kNoValue;
    value = builder_.cast(value, node(n).dtype);
    result = result == kNoValue ? value
                                : builder_.emit(Op::kWhere, node(n).dtype, {inside, value, result});
    start += length;
  }
  // If all parts are empty, no element is ever read.
  return result != kNoValue ? result : builder_.cast(builder_.param(0), node(n).dtype);
}

}  // namespace sluice::fusion
