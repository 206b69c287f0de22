// Lowers scans: an instruction of the row that is walked, or expressions of the elements along an
// unrolled axis, in the order that kernels/scan.h gives rows of so few elements.
#include <algorithm>
#include <bit>
#include <functional>

#include "fusion/ir/scan.h"
#include "fusion/lower/group_lowering.h"
#include "fusion/lower/schedule.h"

namespace sluice::fusion {

bool GroupLowering::cuts_scans(const SplitDim& split) const {
  return !group_.axes.empty() && split.dim >= outer_dims_ &&
         std::any_of(group_.members.begin(), group_.members.end(),
                     [&](NodeId member) { return is_scan(node(member).op); });
}

ValueId GroupLowering::scanned(NodeId n, MapId map) {
  const std::vector<int> axes = {static_cast<int>(node(n).attrs[0])};
  if (group_.unrolled == axes) return scanned_unrolled(n, map);
  const std::vector<std::vector<int64_t>> all = places({});
  const bool in_step = group_.axes == axes && node(n).shape == group_.space &&
                       std::any_of(all.begin(), all.end(), [&](const std::vector<int64_t>& place) {
                         return maps_.intern(maps_.space_at(place)) == map;
                       });
  if (!in_step) return fail_until_stored(n);
  const ValueId operand = operand_value(n, 0, map, kNoValue);
  if (failed_) return kNoValue;
  if (node(n).shape[axes[0]] == 1) return operand;
  return builder_.emit(node(n).op, node(n).dtype, {builder_.along_row(operand)});
}

ValueId GroupLowering::scanned_unrolled(NodeId n, MapId map) {
  const auto axis = static_cast<int>(node(n).attrs[0]);
  const Shape& shape = node(n).shape;
  IndexMap element = maps_[map];
  const auto& coefficients = element.axes[axis].coefficient;
  const bool at_one_place = std::all_of(coefficients.begin(), coefficients.end(),
                                        [](int64_t coefficient) { return coefficient == 0; });
  if (!at_one_place) return fail_until_stored(n);
  // Halves accumulate in float32 and are rounded once.
  const DType dtype = node(n).dtype;
  const DType accumulated = is_float(dtype) ? compute_type(dtype) : dtype;
  const int64_t index = element.axes[axis].offset;
  std::vector<ValueId> elements;
  for (int64_t r = 0; r <= index; ++r) {
    element.axes[axis].offset = r;
    const ValueId value = operand_value(n, 0, maps_.intern(element, map), kNoValue);
    if (failed_) return kNoValue;
    elements.push_back(builder_.cast(value, accumulated));
  }
  auto combine = [&](ValueId a, ValueId b) {
    return builder_.emit(op_of_scan(node(n).op), accumulated, {a, b});
  };
  // Of elements [first, last]; the builder has each value once.
  const std::function<ValueId(int64_t, int64_t)> upto = [&](int64_t first, int64_t last) {
    if (first == last) return elements[first];
    const auto half = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(last - first)));
    return combine(upto(first, first + half - 1), upto(first + half, last));
  };
  ValueId result = elements[0];
  if (schedule_of(shape, {axis}) == Schedule::kColumn) {
    for (int64_t r = 1; r <= index; ++r) result = combine(result, elements[r]);
  } else {
    result = upto(0, index);
  }
  // What comes before the first leaf is the identity, and a logarithm of 1 makes -0 of it 0.
  if (node(n).op == Op::kLogcumsumexp) {
    const ValueId zero = builder_.cast(builder_.param(0), accumulated);
    result = builder_.emit(Op::kAdd, accumulated, {result, zero});
  }
  return builder_.cast(result, dtype);
}

}  // namespace sluice::fusion
