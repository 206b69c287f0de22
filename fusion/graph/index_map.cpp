#include "fusion/graph/index_map.h"

#include <algorithm>

#include "runtime/integers.h"

namespace sluice::fusion {
namespace {

// sum += a * factor
void accumulate(Affine& sum, const Affine& a, int64_t factor) {
  sum.offset += a.offset * factor;
  for (size_t d = 0; d < a.coefficient.size(); ++d) sum.coefficient[d] += a.coefficient[d] * factor;
}

// True if `a` depends on the first `num_dims` indices alone.
bool is_affine(const Affine& a, int num_dims) {
  return std::all_of(a.coefficient.begin() + num_dims, a.coefficient.end(),
                     [](int64_t coefficient) { return coefficient == 0; });
}

// Delinearizes the row-major position of a reshape's element, an affine function, into indices
// along the operand's axes. The indices are affine where every iteration dim moves along one axis
// only, without a carry.
MapResult map_through_reshape(const Shape& shape, const Shape& operand, const IndexMap& map,
                              const std::vector<int64_t>& extents) {
  IndexMap result;
  result.rank = operand.rank();
  if (operand.numel() == 0) return result;  // no element is ever read

  const Strides out_strides = contiguous_layout(shape).strides;
  const Strides in_strides = contiguous_layout(operand).strides;
  const auto num_dims = static_cast<int>(extents.size());
  // An axis whose index counts conditions has to be an axis of the operand as it is.
  std::array<bool, kMaxRank> kept{};
  Affine position;
  for (int k = 0; k < shape.rank(); ++k) {
    if (is_affine(map.axes[k], num_dims)) {
      accumulate(position, map.axes[k], out_strides[k]);
      continue;
    }
    int axis = 0;
    while (axis < operand.rank() &&
           (operand[axis] != shape[k] || in_strides[axis] != out_strides[k])) {
      ++axis;
    }
    if (axis == operand.rank()) return NotAffine{};
    kept[axis] = true;
    result.axes[axis] = map.axes[k];
  }

  // A dim with a negative coefficient is delinearized in the opposite direction, and turned back
  // below.
  std::array<bool, kMaxDims> backwards{};
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == 1) position.coefficient[d] = 0;
    if (position.coefficient[d] >= 0) continue;
    backwards[d] = true;
    position.offset += position.coefficient[d] * (extents[d] - 1);
    position.coefficient[d] = -position.coefficient[d];
  }

  // The digits of the least position. Pads and concats ask for positions outside too, which they
  // discard: before the first element the leading digit is negative, and the others are what they
  // are elsewhere.
  std::array<int64_t, kMaxRank> reach{};  // the greatest index so far along each axis
  int64_t rest = position.offset;
  for (int k = 0; k < operand.rank(); ++k) {
    if (operand[k] == 1) continue;
    const int64_t digit = floor_div(rest, in_strides[k]);
    rest -= digit * in_strides[k];
    if (kept[k] && digit != 0) return NotAffine{};
    if (kept[k]) continue;
    result.axes[k].offset = digit;
    reach[k] = digit;
  }
  for (size_t d = 0; d < extents.size(); ++d) {
    const int64_t coefficient = position.coefficient[d];
    if (coefficient == 0) continue;
    int axis = 0;
    while (axis < operand.rank() && (operand[axis] == 1 || in_strides[axis] > coefficient)) ++axis;
    if (axis == operand.rank() || kept[axis]) return NotAffine{};
    if (coefficient % in_strides[axis] != 0) return NotAffine{};
    const int64_t step = coefficient / in_strides[axis];
    if (step * (extents[d] - 1) >= operand[axis]) {
      // The dim runs past the axis: its inner part may cover just this axis.
      const int64_t inner = operand[axis] / step;
      if (operand[axis] % step != 0 || inner <= 1 || extents[d] % inner != 0) return NotAffine{};
      return SplitDim{static_cast<int>(d), inner};
    }
    result.axes[axis].coefficient[d] = step;
    reach[axis] += step * (extents[d] - 1);
  }
  for (int k = 0; k < operand.rank(); ++k) {
    if (reach[k] >= operand[k]) return NotAffine{};  // a carry into the next axis
  }
  for (size_t d = 0; d < extents.size(); ++d) {
    if (!backwards[d]) continue;
    for (int k = 0; k < operand.rank(); ++k) {
      if (kept[k]) continue;
      Affine& axis = result.axes[k];
      axis.offset += axis.coefficient[d] * (extents[d] - 1);
      axis.coefficient[d] = -axis.coefficient[d];
    }
  }
  return result;
}

}  // namespace

MapResult map_through_view(const View& view, const Shape& operand, const IndexMap& map,
                           const std::vector<int64_t>& extents) {
  IndexMap result;
  result.rank = operand.rank();
  switch (view.op) {
    case Op::kPermute:
      for (int i = 0; i < map.rank; ++i) result.axes[view.attrs[i]] = map.axes[i];
      return result;
    case Op::kSlice:
      for (int i = 0; i < map.rank; ++i) {
        result.axes[i].offset = view.attrs[2 * i];
        accumulate(result.axes[i], map.axes[i], view.attrs[2 * i + 1]);
      }
      return result;
    case Op::kBroadcast: return map_through_broadcast(operand, view.shape, map);
    case Op::kReshape: return map_through_reshape(view.shape, operand, map, extents);
    default: return NotAffine{};
  }
}

IndexMap map_through_broadcast(const Shape& from, const Shape& to, const IndexMap& map) {
  IndexMap result;
  result.rank = from.rank();
  const int lead = to.rank() - from.rank();
  for (int i = 0; i < from.rank(); ++i) {
    if (from[i] != 1 || to[i + lead] == 1) result.axes[i] = map.axes[i + lead];
  }
  return result;
}

Affine address_of(const IndexMap& map, const Strides& strides) {
  Affine address;
  for (int k = 0; k < map.rank; ++k) {
    if (strides[k] != 0) accumulate(address, map.axes[k], strides[k]);
  }
  return address;
}

std::optional<Layout> layout_through_view(const View& view, const Layout& operand) {
  Layout layout{.shape = view.shape, .offset = operand.offset};
  switch (view.op) {
    case Op::kReshape: return reshape_layout(operand, view.shape);
    case Op::kPermute:
      for (int i = 0; i < view.shape.rank(); ++i)
        layout.strides[i] = operand.strides[view.attrs[i]];
      return layout;
    case Op::kSlice:
      for (int i = 0; i < view.shape.rank(); ++i) {
        layout.offset += view.attrs[2 * i] * operand.strides[i];
        layout.strides[i] = view.attrs[2 * i + 1] * operand.strides[i];
      }
      return layout;
    case Op::kBroadcast: {
      const int lead = view.shape.rank() - operand.shape.rank();
      for (int i = 0; i < operand.shape.rank(); ++i) {
        const bool is_stretched = operand.shape[i] == 1 && view.shape[i + lead] != 1;
        layout.strides[i + lead] = is_stretched ? 0 : operand.strides[i];
      }
      return layout;
    }
    default: return std::nullopt;
  }
}

}  // namespace sluice::fusion
