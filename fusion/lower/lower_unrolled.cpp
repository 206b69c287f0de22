// Lowers reductions along unrolled axes: expressions of the elements of a row, combined in the
// order that kernels/reduction.h gives rows of so few elements.
#include <algorithm>
#include <bit>

#include "fusion/lower/group_lowering.h"
#include "fusion/lower/schedule.h"

namespace sluice::fusion {
namespace {

// The op that combines two elements as `reduction`, which gives no position, does.
Op combining_op(Op reduction) {
  switch (reduction) {
    case Op::kSum: return Op::kAdd;
    case Op::kProd: return Op::kMul;
    case Op::kMax: return Op::kMaximum;
    case Op::kMin: return Op::kMinimum;
    case Op::kAny: return Op::kLogicalOr;
    default: return Op::kLogicalAnd;
  }
}

// All indices along `axes` of `space`, in row-major order.
std::vector<std::vector<int64_t>> indices_along(const Shape& space, absl::Span<const int> axes) {
  std::vector<std::vector<int64_t>> all = {{}};
  for (const int axis : axes) {
    std::vector<std::vector<int64_t>> longer;
    for (const std::vector<int64_t>& index : all) {
      for (int64_t i = 0; i < space[axis]; ++i) {
        longer.push_back(index);
        longer.back().push_back(i);
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace

std::vector<std::vector<int64_t>> GroupLowering::places(absl::Span<const int> without) const {
  const bool varies = without != absl::Span<const int>(group_.unrolled);
  return indices_along(group_.space, varies ? group_.unrolled : std::vector<int>{});
}

bool GroupLowering::is_unrolled(NodeId n) const {
  return is_reduction(node(n).op) && !group_.unrolled.empty() &&
         std::equal(node(n).attrs.begin(), node(n).attrs.end(), group_.unrolled.begin(),
                    group_.unrolled.end());
}

ValueId GroupLowering::unrolled(NodeId n, MapId map, ValueId predicate) {
  const Shape& shape = node(node(n).operands[0].node).shape;
  const std::vector<int>& axes = group_.unrolled;
  // The row's first element.
  IndexMap element;
  element.rank = shape.rank();
  const bool keeps_axes = node(n).shape.rank() == shape.rank();
  for (int k = 0, from = 0; k < shape.rank(); ++k) {
    const bool is_reduced = std::find(axes.begin(), axes.end(), k) != axes.end();
    if (!is_reduced) element.axes[k] = maps_[map].axes[from];
    if (!is_reduced || keeps_axes) ++from;
  }
  std::vector<ValueId> elements;
  for (const std::vector<int64_t>& index : indices_along(shape, axes)) {
    for (size_t i = 0; i < axes.size(); ++i) element.axes[axes[i]].offset = index[i];
    elements.push_back(operand_value(n, 0, maps_.intern(element), predicate));
    if (failed_) return kNoValue;
  }
  if (is_arg_reduction(node(n).op)) return best_position(node(n).op, elements);
  // Halves accumulate in float32 and are rounded once.
  const DType dtype = node(n).dtype;
  const DType accumulated = is_float(dtype) ? compute_type(dtype) : dtype;
  for (ValueId& value : elements) value = builder_.cast(value, accumulated);
  auto combine = [&](size_t into, size_t from) {
    elements[into] =
        builder_.emit(combining_op(node(n).op), accumulated, {elements[into], elements[from]});
  };
  const size_t length = elements.size();
  if (schedule_of(shape, axes) == Schedule::kColumn) {
    for (size_t r = 1; r < length; ++r) combine(0, r);
  } else {
    for (size_t half = std::bit_ceil(length) / 2; half >= 1; half /= 2) {
      for (size_t lane = 0; lane < half && lane + half < length; ++lane) {
        combine(lane, lane + half);
      }
    }
  }
  return builder_.cast(elements[0], dtype);
}

ValueId GroupLowering::position(int64_t number) {
  for (int64_t next = static_cast<int64_t>(positions_.size()); next <= number; ++next) {
    positions_.push_back(builder_.cast(builder_.param(next), DType::kInt32));
  }
  return positions_[number];
}

ValueId GroupLowering::best_position(Op op, const std::vector<ValueId>& elements) {
  const DType dtype = builder_.dtype_of(elements[0]);
  auto emit_bool = [&](Op test, std::initializer_list<ValueId> operands) {
    return builder_.emit(test, DType::kBool, operands);
  };
  // That `b`, of a later position, is better than `a`: a NaN is the best.
  auto is_better = [&](ValueId b, ValueId a) {
    if (op == Op::kArgMin) std::swap(a, b);
    if (!is_float(dtype)) return emit_bool(Op::kLess, {a, b});
    const ValueId not_worse = emit_bool(Op::kLogicalNot, {emit_bool(Op::kLessEqual, {b, a})});
    const ValueId first = op == Op::kArgMin ? b : a;
    const ValueId is_nan = emit_bool(Op::kIsNan, {first});
    return emit_bool(Op::kLogicalAnd, {not_worse, emit_bool(Op::kLogicalNot, {is_nan})});
  };
  std::vector<std::pair<ValueId, ValueId>> best;  // values and positions
  for (size_t r = 0; r < elements.size(); ++r) {
    best.emplace_back(elements[r], position(static_cast<int64_t>(r)));
  }
  while (best.size() > 1) {
    std::vector<std::pair<ValueId, ValueId>> winners;
    for (size_t r = 0; r + 1 < best.size(); r += 2) {
      const auto& [a, position_a] = best[r];
      const auto& [b, position_b] = best[r + 1];
      const ValueId later = is_better(b, a);
      winners.emplace_back(
          builder_.emit(Op::kWhere, dtype, {later, b, a}),
          builder_.emit(Op::kWhere, DType::kInt32, {later, position_b, position_a}));
    }
    if (best.size() % 2 != 0) winners.push_back(best.back());
    best = std::move(winners);
  }
  return builder_.cast(best[0].second, DType::kInt64);
}

}  // namespace sluice::fusion
