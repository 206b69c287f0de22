#include "fusion/partition/positions.h"

#include <algorithm>

#include "fusion/graph/index_map.h"

namespace sluice::fusion {

Positions::Positions(const Graph& graph, const Constraints& constraints, const Uses& uses,
                     const GroupGraph& groups)
    : graph_(graph),
      constraints_(constraints),
      uses_(uses),
      groups_(groups),
      members_(graph.nodes.size()) {}

void Positions::set(NodeId n, int g, std::optional<Projection> position) {
  auto& groups = members_[n];
  const auto is_here = [g](const Member& member) { return member.group == g; };
  groups.erase(std::remove_if(groups.begin(), groups.end(), is_here), groups.end());
  if (position) groups.push_back({g, *position});
}

// nullopt also if groups that were merged since have it at different positions.
std::optional<Projection> Positions::of_member(NodeId n, int g) const {
  std::optional<Projection> position;
  for (const Member& member : members_[n]) {
    if (groups_.find(member.group) != g) continue;
    if (position && *position != member.position) return std::nullopt;
    position = member.position;
  }
  return position;
}

void Positions::move_to_rows(int g, const Rows& rows, NodeId reduction) {
  const Group& group = groups_.at(g);
  // Dim d of the group's space is this axis of the rows' space. Where the reduction keeps its axes
  // with extent 1, it is the same one.
  const bool keeps_axes = node(reduction).shape.rank() == rows.space.rank();
  std::vector<int> axis_of;
  for (int k = 0; k < rows.space.rank(); ++k) {
    const bool reduced = std::find(rows.axes.begin(), rows.axes.end(), k) != rows.axes.end();
    if (!reduced || keeps_axes) axis_of.push_back(k);
  }
  for (NodeId member : group.members) {
    for (Member& here : members_[member]) {
      if (groups_.find(here.group) != g) continue;
      Projection moved = 0;
      for (int d = 0; d < group.space.rank(); ++d) {
        if (here.position >> d & 1) moved |= 1 << axis_of[d];
      }
      here.position = moved;
    }
  }
}

bool Positions::reads_at_index(const Use& use, int g) const {
  return uses_.computed_at_index(use) || groups_.has_member_at_index(g, use.consumer);
}

std::optional<Projection> Positions::of_read(const Use& use, int g) const {
  const GraphNode& consumer = node(use.consumer);
  const Shape& space = groups_.at(g).space;
  if (uses_.needs_memory(use) || reads_at_index(use, g)) return std::nullopt;
  const std::optional<Projection> of_consumer = of_member(use.consumer, g);
  if (!of_consumer) return std::nullopt;
  NodeId value = consumer.operands[use.operand].node;
  const Shape& shape = node(value).shape;
  if (!is_seen_through(value)) {
    // Without views, as most are, there is no need of a map.
    if (is_pointwise(consumer.op)) {
      return projection_of_operand(*of_consumer, shape, consumer.shape);
    }
    if (is_reduction(consumer.op) && shape == space) return all_dims(space);
  }
  IndexMap map;
  switch (class_of(consumer.op)) {
    case OpClass::kLibrary:  // a scan
    case OpClass::kReduction: map = map_of(all_dims(space), space, shape); break;
    case OpClass::kPointwise:
    case OpClass::kGather:
      map = map_of(*of_consumer, space, consumer.shape);
      if (shape != consumer.shape) map = map_through_broadcast(shape, consumer.shape, map);
      break;
    case OpClass::kView:
      // A copied reshape walks its operand: both are in row-major order.
      if (consumer.op != Op::kReshape) return std::nullopt;
      map = map_of(all_dims(space), space, shape);
      break;
    default: return std::nullopt;
  }
  const std::vector<int64_t> extents(space.begin(), space.end());
  while (is_seen_through(value)) {
    const NodeId operand = node(value).operands[0].node;
    const MapResult through =
        map_through_view(view_of(node(value)), node(operand).shape, map, extents);
    if (!std::holds_alternative<IndexMap>(through)) return std::nullopt;
    map = std::get<IndexMap>(through);
    value = operand;
  }
  return projection_of(map, space, node(value).shape);
}

std::optional<Projection> Positions::of_reads(NodeId n, int g) const {
  std::optional<Projection> position;
  for (const Use& use : uses_.of(n)) {
    if (!groups_.has_member(g, use.consumer)) continue;
    const std::optional<Projection> here = of_read(use, g);
    if (!here || (position && *position != *here)) return std::nullopt;
    position = here;
  }
  return position;
}

bool Positions::once_a_row(NodeId n, int g) const {
  const Group& group = groups_.at(g);
  return !group.axes.empty() && of_reads(n, g) == outer_dims(group.space, group.axes);
}

bool Positions::is_member(NodeId n, int g) const {
  return std::any_of(members_[n].begin(), members_[n].end(),
                     [&](const Member& member) { return groups_.find(member.group) == g; });
}

bool Positions::is_at_row_ends(NodeId n, int g) const {
  const Group& group = groups_.at(g);
  return !group.axes.empty() && of_member(n, g) == outer_dims(group.space, group.axes);
}

bool Positions::can_store(NodeId n, int g) const {
  const Group& group = groups_.at(g);
  if (group.library) return false;
  const std::optional<Projection> position = of_reads(n, g);
  if (!position) return false;
  if (*position == all_dims(group.space)) return true;
  return !group.axes.empty() && *position == outer_dims(group.space, group.axes);
}

}  // namespace sluice::fusion
