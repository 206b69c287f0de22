// Lowers gathers: reads of single elements at computed indices, from memory or, where the source
// is cheap to compute, by computing just these elements.
#include "fusion/graph/uses.h"
#include "fusion/lower/group_lowering.h"

namespace sluice::fusion {

ValueId GroupLowering::gathered(NodeId n, MapId map, ValueId predicate) {
  const int axis = static_cast<int>(node(n).attrs[0]);
  const NodeId operand = node(n).operands[0].node;
  if (is_computed_at_index(node(operand).op) && !in_memory(operand)) {
    return gathered_from_computed(n, map, predicate);
  }
  NodeId blocking = kNoNode;
  const auto from = locate(graph_, *constraints_, memory_, operand, &blocking);
  if (!from) return fail_until_copied(blocking);
  const ValueId index = checked_index(n, from->layout.shape[axis], map, predicate);
  if (failed_) return kNoValue;
  const IndexMap rest = map_through_broadcast(from->layout.shape, node(n).shape, maps_[map]);
  return gather_at(*from, node(n).dtype, axis, index, rest, map, predicate);
}

ValueId GroupLowering::gathered_from_computed(NodeId n, MapId map, ValueId predicate) {
  const int axis = static_cast<int>(node(n).attrs[0]);
  const NodeId operand = node(n).operands[0].node;
  const ValueId index = checked_index(n, node(operand).shape[axis], map, predicate);
  if (failed_) return kNoValue;
  IndexMap rest = map_through_broadcast(node(operand).shape, node(n).shape, maps_[map]);
  rest.axes[axis] = {};
  return value_at(operand, axis, index, maps_.intern(rest, map), predicate);
}

// The element of `n` at `index` along `axis` and at `map` along the other axes.
ValueId GroupLowering::value_at(NodeId n, int axis, ValueId index, MapId map, ValueId predicate) {
  const Shape& shape = node(n).shape;
  if (axis < 0 || shape[axis] == 1) return value_of(n, map, predicate);
  if (in_memory(n)) {
    return gather_at(source(n), node(n).dtype, axis, index, maps_[map], map, predicate);
  }
  if (node(n).op == Op::kCoordinate && node(n).attrs[0] == axis) return index;
  if (class_of(node(n).op) == OpClass::kSource) return computed(n, map, predicate);
  if (!is_pointwise(node(n).op)) return fail_until_stored(n);
  return pointwise(n, [&](int k) {
    const GraphOperand& operand = node(n).operands[k];
    const DType expected = expected_operand_dtype(node(n), k);
    if (operand.is_scalar()) return builder_.scalar(operand.scalar, expected);
    const Shape& from = node(operand.node).shape;
    const MapId inner = maps_.intern(map_through_broadcast(from, shape, maps_[map]), map);
    const int shift = shape.rank() - from.rank();
    const ValueId value = value_at(operand.node, axis - shift, index, inner, predicate);
    return failed_ ? kNoValue : builder_.cast(value, expected);
  });
}

// The index operand of gather `n`, made non-negative and checked against `extent`.
ValueId GroupLowering::checked_index(NodeId n, int64_t extent, MapId map, ValueId predicate) {
  const ValueId index = operand_value(n, 1, map, predicate);
  if (failed_) return kNoValue;
  return builder_.emit(Op::kCheckIndex, DType::kInt64, {index, builder_.param(extent), predicate},
                       builder_.error_slot(n));
}

// The element of `source` at `index` along `axis` and at `map`, which has the conditions of `from`,
// along the other axes.
ValueId GroupLowering::gather_at(const Located& source, DType dtype, int axis, ValueId index,
                                 IndexMap map, MapId from, ValueId predicate) {
  map.axes[axis] = {};
  Affine address = address_of(map, source.layout.strides);
  address.offset += source.layout.offset;
  const ValueId stride = builder_.param(source.layout.strides[axis]);
  const ValueId offset = builder_.emit(Op::kMul, DType::kInt64, {index, stride});
  return element_at(source.memory, dtype, address, offset, from, predicate);
}

}  // namespace sluice::fusion
