#include "fusion/partition/short_rows.h"

#include <algorithm>
#include <utility>

#include "fusion/ir/cost.h"
#include "fusion/ir/scan.h"

namespace sluice::fusion {

namespace {

bool is_short_row(const Shape& space, const std::vector<int>& axes, int64_t most) {
  const int64_t length = row_length(space, axes);
  return length > 1 && length <= most && space.numel() / length >= kMinUnrolledRows;
}

// Positions are found sooner by a row in each lane than in a vector of one row, where that has no
// masks. Where it has them, booleans still are, which have no extremes to begin with.
constexpr int64_t kMostPositions = 32;
int64_t most_positions(bool longer, DType dtype) {
  if (longer || dtype == DType::kBool) return kMostPositions;
  return size_of(dtype) == 8 ? kMaxUnrolled : kMostPositions - 1;
}

// Other reductions of whole vectors take no longer.
int64_t most_elements(bool longer, DType dtype) {
  if (!longer) return kMaxUnrolled;
  return size_of(dtype) == 8 ? 27 : 31;
}

// How many elements of a row are unrolled.
int64_t most_unrolled(const Graph& graph, const Constraints& constraints, const Group& group) {
  // Of other axes, as many streams would be read.
  const bool longer =
      constraints.unrolls_longer_rows && group.axes.back() + 1 == group.space.rank();
  int64_t most = kMostPositions;
  for (const NodeId member : group.members) {
    const GraphNode& node = graph.nodes[member];
    if (is_scan(node.op)) return kMaxUnrolled;
    if (!is_reduction(node.op)) continue;
    const DType dtype = graph.nodes[node.operands[0].node].dtype;
    most = std::min(most, is_arg_reduction(node.op) ? most_positions(longer, dtype)
                                                    : most_elements(longer, dtype));
  }
  return most;
}

int64_t weight_of_members(const Graph& graph, const Group& group) {
  int64_t weight = 0;
  for (const NodeId member : group.members) {
    weight += weight_of(graph.nodes[member].op, graph.nodes[member].dtype);
  }
  return weight;
}

// True if its value at a point depends on operands alone, at places that are known there.
bool is_placed(Op op) {
  switch (class_of(op)) {
    case OpClass::kSource:
    case OpClass::kPointwise:
    case OpClass::kConcat:
    case OpClass::kView: return true;
    default: return false;
  }
}

}  // namespace

bool is_short_row(const Shape& space, const std::vector<int>& axes) {
  return is_short_row(space, axes, kMaxUnrolled);
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

void unroll_short_rows(const Graph& graph, const Constraints& constraints, Group* group) {
  if (group->axes.empty() || !group->unrolled.empty()) return;
  if (!is_short_row(group->space, group->axes, most_unrolled(graph, constraints, *group))) return;
  const int64_t length = row_length(group->space, group->axes);
  if (weight_of_members(graph, *group) * length > kMaxUnrolledWeight) return;
  std::swap(group->axes, group->unrolled);
}

std::vector<int> axis_of_columns(const Graph& graph, const Partition& partition,
                                 const Group& group) {
  // Vectors of more take more shuffles than they are worth.
  constexpr int64_t kMaxColumns = 8;
  if (!group.axes.empty() || !group.unrolled.empty() || group.space.rank() < 2) return {};
  std::vector<int> last = {group.space.rank() - 1};
  if (!is_short_row(group.space, last, kMaxColumns)) return {};
  bool joins_columns = false;
  for (const NodeId member : group.members) {
    const GraphNode& node = graph.nodes[member];
    if (!is_placed(node.op)) return {};
    if (partition.stored[member] && node.shape != group.space) return {};
    joins_columns = joins_columns || (class_of(node.op) == OpClass::kConcat &&
                                      node.shape == group.space && node.attrs[0] == last[0]);
  }
  const int64_t length = row_length(group.space, last);
  if (!joins_columns || weight_of_members(graph, group) * length > kMaxUnrolledWeight) return {};
  return last;
}

}  // namespace sluice::fusion
