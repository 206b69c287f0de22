#include "fusion/partition/short_rows.h"

#include <algorithm>
#include <utility>

#include "fusion/ir/cost.h"

namespace sluice::fusion {

bool is_short_row(const Shape& space, const std::vector<int>& axes) {
  const int64_t length = row_length(space, axes);
  return length > 1 && length <= kMaxUnrolled && space.numel() / length >= kMinUnrolledRows;
}

bool can_unroll(const Rows& rows, const std::vector<int>& axes) {
  if (!is_short_row(rows.space, rows.axes)) return false;
  int64_t outer = rows.space.numel() / row_length(rows.space, rows.axes);
  for (const int axis : axes) {
    if (std::find(rows.axes.begin(), rows.axes.end(), axis) != rows.axes.end()) return false;
    outer /= rows.space[axis];
  }
  return outer >= kMinUnrolledLanes;
}

void unroll_short_rows(const Graph& graph, Group* group) {
  if (group->axes.empty() || !group->unrolled.empty()) return;
  if (!is_short_row(group->space, group->axes)) return;
  int64_t weight = 0;
  for (const NodeId member : group->members)
    weight += weight_of(graph.nodes[member].op, graph.nodes[member].dtype);
  if (weight * row_length(group->space, group->axes) > kMaxUnrolledWeight) return;
  std::swap(group->axes, group->unrolled);
}

}  // namespace sluice::fusion
