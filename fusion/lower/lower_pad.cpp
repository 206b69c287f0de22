// Lowers pad, concat and roll. Each part of a pad or concat is loaded under a predicate on the
// coordinates, so that memory outside it is not touched, and selects combine the parts. A roll is
// an index map in which the wrap-around counts under a condition: one load, whatever is rolled how
// often.
#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "fusion/lower/group_lowering.h"

namespace sluice::fusion {

GroupLowering::Condition GroupLowering::both(const Condition& a, const Condition& b) {
  return {a.never || b.never, builder_.both(a.value, b.value)};
}

// index < bound, or bound <= index.
GroupLowering::Condition GroupLowering::compare(const Affine& index, MapId map, Side side,
                                                int64_t bound) {
  const std::vector<int64_t>& extents = maps_.extents();
  const ValueId conditional = conditional_part(index, map);
  if (conditional == kNoValue && group_.space.numel() > 0) {
    int64_t least = index.offset, greatest = index.offset;
    for (size_t d = 0; d < extents.size(); ++d) {
      const int64_t reach = index.coefficient[d] * (extents[d] - 1);
      (reach < 0 ? least : greatest) += reach;
    }
    const bool below = greatest < bound, above = least >= bound;
    if (below || above) return {.never = below != (side == Side::kBelow)};
  }
  // All indices along an axis share one coordinate.
  Affine direction = index;
  direction.offset = 0;
  bound -= index.offset;
  const auto [known, inserted] = comparisons_.try_emplace(
      std::make_tuple(direction.coefficient, conditional, side, bound), kNoValue);
  if (inserted) {
    const ValueId at = index_value(direction, map);
    const ValueId limit = builder_.param(bound);
    known->second = side == Side::kBelow ? builder_.emit(Op::kLess, DType::kBool, {at, limit})
                                         : builder_.emit(Op::kLessEqual, DType::kBool, {limit, at});
  }
  return {.value = known->second};
}

// low <= index < high, of an index below `extent`.
GroupLowering::Condition GroupLowering::in_range(const Affine& index, MapId map, int64_t low,
                                                 int64_t high, int64_t extent) {
  Condition inside;
  if (low > 0) inside = compare(index, map, Side::kFrom, low);
  if (high < extent) inside = both(inside, compare(index, map, Side::kBelow, high));
  return inside;
}

ValueId GroupLowering::padded(NodeId n, MapId map, ValueId predicate) {
  struct Level {
    NodeId pad;
    MapId map;
    Condition inside;
  };
  absl::InlinedVector<Level, 2> levels;
  NodeId operand = n;
  MapId of_operand = map;
  do {
    const NodeId pad = operand;
    operand = node(pad).operands[0].node;
    const Shape& shape = node(operand).shape;
    IndexMap inner = maps_[of_operand];
    Condition inside;
    for (int k = 0; k < inner.rank; ++k) {
      const int64_t before = node(pad).attrs[k];
      const int64_t end = before + shape[k];
      inside = both(inside, in_range(inner.axes[k], of_operand, before, end, node(pad).shape[k]));
      inner.axes[k].offset -= before;
    }
    levels.push_back({pad, of_operand, inside});
    of_operand = maps_.intern(inner, of_operand);
  } while (node(operand).op == Op::kPad && !in_memory(operand) && !levels.back().inside.never);

  // What is read lies inside all of them. Along an axis that is so where it lies inside the
  // innermost, but not every pad pads every axis.
  Condition inside_all;
  for (int k = 0; k < maps_[map].rank; ++k) {
    const Affine& index = maps_[map].axes[k];
    const int64_t before = index.offset - maps_[of_operand].axes[k].offset;
    inside_all = both(inside_all, in_range(index, map, before, before + node(operand).shape[k],
                                           node(n).shape[k]));
  }
  ValueId value = kNoValue;
  if (!inside_all.never) {
    value = value_of(operand, of_operand, builder_.both(predicate, inside_all.value));
    if (failed_) return kNoValue;
  }
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    if (!level->inside.never && level->inside.value == kNoValue) continue;
    const ValueId fill = operand_value(level->pad, 1, level->map, predicate);
    if (failed_) return kNoValue;
    value = level->inside.never || value == kNoValue
                ? fill
                : builder_.emit(Op::kWhere, node(n).dtype, {level->inside.value, value, fill});
  }
  return value;
}

ValueId GroupLowering::concatenated(NodeId n, MapId map, ValueId predicate) {
  const int axis = static_cast<int>(node(n).attrs[0]);
  const Affine index = maps_[map].axes[axis];
  ValueId result = kNoValue;
  int64_t start = 0;
  for (const GraphOperand& operand : node(n).operands) {
    const int64_t length = node(operand.node).shape[axis];
    const int64_t first = std::exchange(start, start + length);
    const Condition inside = in_range(index, map, first, start, node(n).shape[axis]);
    if (length == 0 || inside.never) continue;
    IndexMap inner = maps_[map];
    inner.axes[axis].offset -= first;
    ValueId value =
        value_of(operand.node, maps_.intern(inner, map), builder_.both(predicate, inside.value));
    if (failed_) return kNoValue;
    value = builder_.cast(value, node(n).dtype);
    if (inside.value == kNoValue) return value;
    result = result == kNoValue
                 ? value
                 : builder_.emit(Op::kWhere, node(n).dtype, {inside.value, value, result});
  }
  // If all parts are empty, no element is ever read.
  return result != kNoValue ? result : builder_.cast(builder_.param(0), node(n).dtype);
}

ValueId GroupLowering::rolled(NodeId n, MapId map, ValueId predicate) {
  // Rolls along one axis add up, and those along different axes commute.
  std::array<int64_t, kMaxRank> shifts{};
  const Shape& shape = node(n).shape;
  NodeId source = n;
  do {
    const int64_t axis = node(source).attrs[0];
    shifts[axis] = (shifts[axis] + node(source).attrs[1]) % std::max<int64_t>(shape[axis], 1);
    source = node(source).operands[0].node;
  } while (node(source).op == Op::kRoll && !in_memory(source));

  IndexMap inner = maps_[map];
  MapTable::Conditions conditions = maps_.conditions(map);
  for (int k = 0; k < inner.rank; ++k) {
    if (shifts[k] == 0) continue;
    const Condition wraps = compare(inner.axes[k], map, Side::kBelow, shifts[k]);
    inner.axes[k].offset -= shifts[k];
    if (wraps.never) continue;
    if (wraps.value == kNoValue) {
      inner.axes[k].offset += shape[k];
      continue;
    }
    if (conditions.size() == kMaxConditions) return fail_until_stored(n);
    inner.axes[k].coefficient[maps_.extents().size() + conditions.size()] = shape[k];
    conditions.push_back(wraps.value);
  }
  return value_of(source, maps_.intern(inner, std::move(conditions)), predicate);
}

ValueId GroupLowering::conditional_part(const Affine& index, MapId map) {
  ValueId sum = kNoValue;
  const MapTable::Conditions& conditions = maps_.conditions(map);
  for (size_t k = 0; k < conditions.size(); ++k) {
    const int64_t coefficient = index.coefficient[maps_.extents().size() + k];
    if (coefficient == 0) continue;
    const auto [known, inserted] =
        distances_.try_emplace(std::make_pair(conditions[k], coefficient), kNoValue);
    if (inserted) {
      const ValueId distance = builder_.param(coefficient);
      known->second =
          builder_.emit(Op::kWhere, DType::kInt64, {conditions[k], distance, builder_.param(0)});
    }
    sum = builder_.sum(sum, known->second);
  }
  return sum;
}

// `index` without what its map's conditions add.
Affine GroupLowering::fixed_part(Affine index) const {
  std::fill(index.coefficient.begin() + maps_.extents().size(), index.coefficient.end(), 0);
  return index;
}

ValueId GroupLowering::index_value(const Affine& index, MapId map) {
  return builder_.sum(builder_.coordinate(fixed_part(index)), conditional_part(index, map));
}

ValueId GroupLowering::element_at(const MemoryRef& memory, DType dtype, const Affine& address,
                                  ValueId offset, MapId map, ValueId predicate) {
  const Affine fixed = fixed_part(address);
  offset = builder_.sum(offset, conditional_part(address, map));
  if (offset == kNoValue) return builder_.load(memory, dtype, fixed, predicate);
  return builder_.emit(Op::kGather, dtype, {offset, predicate},
                       builder_.access(&memory, dtype, fixed));
}

}  // namespace sluice::fusion
