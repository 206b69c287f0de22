#include "fusion/partition/partition.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "fusion/graph/projection.h"
#include "fusion/graph/uses.h"
#include "fusion/ir/cost.h"
#include "fusion/partition/group_graph.h"

namespace sluice::fusion {
namespace {

using Groups = absl::InlinedVector<int, 4>;

class Partitioner {
 public:
  Partitioner(const Graph& graph, const Constraints& constraints, bool fuse)
      : graph_(graph),
        constraints_(constraints),
        fuse_(fuse),
        size_(graph.nodes.size()),
        uses_(graph, constraints) {}

  Partition run() {
    groups_of_.resize(size_);
    at_index_in_.resize(size_);
    recomputations_.resize(size_, 1);
    positions_.resize(size_);
    result_.stored.resize(size_, false);
    // Users before what they use: when a node's turn comes, it is known who reads it from where.
    for (NodeId n = size_ - 1; n >= 0; --n) {
      if (uses_.computes(n)) place(n);
    }
    if (fuse_) merge_siblings();
    result_.groups = std::move(groups_).in_order();
    return std::move(result_);
  }

 private:
  const GraphNode& node(NodeId n) const { return graph_.nodes[n]; }
  Group& group(int g) { return groups_.at(g); }
  const Group& group(int g) const { return groups_.at(g); }

  NodeId viewed(NodeId n) const { return uses_.viewed(n); }

  // The groups that read `n`, each once.
  Groups readers_of(NodeId n) const {
    Groups readers;
    for (const Use& use : uses_.of(n)) {
      for (int g : groups_of_[use.consumer]) {
        g = groups_.find(g);
        if (std::find(readers.begin(), readers.end(), g) == readers.end()) readers.push_back(g);
      }
    }
    return readers;
  }

  bool in_group(NodeId n, int g) const {
    return std::any_of(groups_of_[n].begin(), groups_of_[n].end(),
                       [&](int other) { return groups_.find(other) == g; });
  }

  // True if `use` in `g` reads single elements at computed indices.
  bool at_index(const Use& use, int g) const {
    if (uses_.computed_at_index(use)) return true;
    return std::any_of(at_index_in_[use.consumer].begin(), at_index_in_[use.consumer].end(),
                       [&](int other) { return groups_.find(other) == g; });
  }

  // The groups that read `n` only so compute what they read themselves; the others are left.
  Groups without_readers_at_index(NodeId n) {
    Groups rest;
    for (int g : readers_of(n)) {
      const bool only = std::all_of(uses_.of(n).begin(), uses_.of(n).end(), [&](const Use& use) {
        return !in_group(use.consumer, g) || at_index(use, g);
      });
      if (only && is_pointwise(node(n).op) && has_room(g, n)) {
        add_member(n, g);
        at_index_in_[n].push_back(g);
      } else {
        rest.push_back(g);
      }
    }
    return rest;
  }

  // Along which dims of the space of `g` the value varies that `use` reads there.
  std::optional<Projection> position_of(const Use& use, int g) {
    const GraphNode& consumer = node(use.consumer);
    const Shape& space = group(g).space;
    if (uses_.memory_reason(use) || at_index(use, g)) return std::nullopt;
    if (!positions_[use.consumer]) return std::nullopt;
    IndexMap map;
    NodeId value = consumer.operands[use.operand].node;
    const Shape& shape = node(value).shape;
    switch (class_of(consumer.op)) {
      case OpClass::kReduction: map = map_of(all_dims(space), space, shape); break;
      case OpClass::kPointwise:
      case OpClass::kGather:
        map = map_of(*positions_[use.consumer], space, consumer.shape);
        if (shape != consumer.shape) map = map_through_broadcast(shape, consumer.shape, map);
        break;
      case OpClass::kView:
        // A copied reshape walks its operand: see own_space().
        if (consumer.op != Op::kReshape) return std::nullopt;
        map = map_of(all_dims(space), space, shape);
        break;
      default: return std::nullopt;
    }
    const std::vector<int64_t> extents(space.begin(), space.end());
    while (is_view(node(value).op) && !constraints_.copied_view[value]) {
      const NodeId operand = node(value).operands[0].node;
      const MapResult through =
          map_through_view(view_of(node(value)), node(operand).shape, map, extents);
      if (!std::holds_alternative<IndexMap>(through)) return std::nullopt;
      map = std::get<IndexMap>(through);
      value = operand;
    }
    return projection_of(map, space, node(value).shape);
  }

  // Likewise for all of the group's reads of `n`, if they agree.
  std::optional<Projection> position_in(NodeId n, int g) {
    std::optional<Projection> position;
    for (const Use& use : uses_.of(n)) {
      if (!in_group(use.consumer, g)) continue;
      const std::optional<Projection> here = position_of(use, g);
      if (!here || (position && *position != *here)) return std::nullopt;
      position = here;
    }
    return position;
  }

  // True if `g` can hand out `n` as it goes: every point, or every row, computes it once.
  bool can_store(NodeId n, int g) {
    if (group(g).library) return false;
    const std::optional<Projection> position = position_in(n, g);
    if (!position) return false;
    if (*position == all_dims(group(g).space)) return true;
    return !group(g).axes.empty() && *position == outer_dims(group(g).space, group(g).axes);
  }

  bool has_room(int g, NodeId n) const {
    return groups_.weight(g) + weight_of(node(n).op) <= kMaxWeight &&
           groups_.outputs(g) < kMaxOutputs;
  }

  static int64_t row_length(const Shape& space, const std::vector<int>& axes) {
    int64_t length = 1;
    for (int axis : axes) length *= space[axis];
    return length;
  }

  // True if a kernel over these rows may do more with their elements than reduce them.
  static bool rows_fit(const Shape& space, const std::vector<int>& axes) {
    const int64_t length = row_length(space, axes);
    return length <= kShortRow || space.numel() / length >= kManyRows;
  }

  bool mergeable(int a, int b) {
    const Group& first = group(a);
    const Group& second = group(b);
    if (first.library || second.library || first.space != second.space) return false;
    if (first.axes != second.axes) {
      if (!first.axes.empty() && !second.axes.empty()) return false;
      if (!rows_fit(first.space, first.axes.empty() ? second.axes : first.axes)) return false;
    }
    return groups_.weight(a) + groups_.weight(b) <= kMaxWeight &&
           groups_.outputs(a) + groups_.outputs(b) <= kMaxOutputs && !groups_.reaches(a, b) &&
           !groups_.reaches(b, a);
  }

  void place(NodeId n) {
    const OpClass op_class = class_of(node(n).op);
    if (op_class == OpClass::kLibrary) {
      const int g = store_in_new_group(n, node(n).shape, CutReason::kLibrary);
      group(g).library = true;
      positions_[n].reset();
    } else if (op_class == OpClass::kReduction) {
      place_reduction(n);
    } else if (!fuse_) {
      store_in_new_group(n, own_space(n), CutReason::kFusionOff);
    } else {
      place_inlineable(n);
    }
  }

  // What a reduction walks.
  struct Rows {
    Shape space;
    std::vector<int> axes;
  };
  Rows rows_of(NodeId reduction) const {
    const GraphNode& of = node(reduction);
    return {node(of.operands[0].node).shape, {of.attrs.begin(), of.attrs.end()}};
  }

  Shape own_space(NodeId n) const {
    // A copied reshape walks its operand: both are in row-major order.
    return node(n).op == Op::kReshape ? node(node(n).operands[0].node).shape : node(n).shape;
  }

  // A reduction joins a kernel that walks the same rows, or that is to be what it does once a row.
  void place_reduction(NodeId n) {
    const auto [space, axes] = rows_of(n);
    const std::optional<CutReason> reason = uses_.reason_to_store(n);
    const CutReason own_reason = rows_fit(space, axes) ? CutReason::kReduction : CutReason::kRow;
    if (fuse_ && !constraints_.in_memory[n]) {
      merge_readers(n);
      const Groups readers = readers_of(n);
      for (int g : readers) {
        if (!has_room(g, n) || !comes_first(g, readers)) continue;
        const bool joined = walks_rows(n, g, space, axes) || is_epilogue(n, g, space, axes);
        if (!joined) continue;
        if (group(g).space != space) walk_rows(n, g, space, axes);
        group(g).axes = axes;
        add_member(n, g);
        positions_[n] = outer_dims(space, axes);
        if (reason || readers.size() > 1) {
          finish_store(n, g, readers, reason.value_or(own_reason));
        }
        return;
      }
    }
    const int g = store_in_new_group(n, space, reason.value_or(own_reason));
    group(g).axes = axes;
    positions_[n] = outer_dims(space, axes);
  }

  bool walks_rows(NodeId n, int g, const Shape& space, const std::vector<int>& axes) {
    const Group& reader = group(g);
    return !reader.library && reader.space == space &&
           (reader.axes.empty() || reader.axes == axes) && rows_fit(space, axes) &&
           position_in(n, g) == outer_dims(space, axes);
  }

  bool is_epilogue(NodeId n, int g, const Shape& space, const std::vector<int>& axes) {
    const Group& reader = group(g);
    const bool copies = std::any_of(reader.members.begin(), reader.members.end(),
                                    [&](NodeId member) { return is_view(node(member).op); });
    return !copies && !reader.library && reader.axes.empty() && reader.space == node(n).shape &&
           position_in(n, g) == all_dims(reader.space) &&
           row_length(space, axes) >= kMinRowForEpilogue && space.numel() > 0;
  }

  // The points of `g` become the rows of `space`.
  void walk_rows(NodeId n, int g, const Shape& space, const std::vector<int>& axes) {
    Group& reader = group(g);
    // Dim d of its space is this axis of the new one.
    std::vector<int> axis_of;
    for (int k = 0; k < space.rank(); ++k) {
      const bool reduced = std::find(axes.begin(), axes.end(), k) != axes.end();
      if (!reduced || node(n).shape.rank() == space.rank()) axis_of.push_back(k);
    }
    for (NodeId member : reader.members) {
      if (!positions_[member]) continue;
      Projection moved = 0;
      for (int d = 0; d < reader.space.rank(); ++d) {
        if (*positions_[member] >> d & 1) moved |= 1 << axis_of[d];
      }
      positions_[member] = moved;
    }
    reader.space = space;
  }

  void place_inlineable(NodeId n) {
    merge_readers(n);
    std::optional<CutReason> reason = uses_.reason_to_store(n);
    const Groups readers = reason ? readers_of(n) : without_readers_at_index(n);
    if (readers.empty() && !reason) return;
    if (!reason && !is_view(node(n).op)) {
      count_recomputations(n);
      reason = reason_to_store(n, readers);
      if (!reason) {
        for (int g : readers) add_member(n, g);
        if (readers.size() == 1) positions_[n] = position_in(n, readers[0]);
        return;
      }
    }
    store(n, readers, reason.value_or(CutReason::kView));
  }

  // Several kernels that read `n` in step become one, where that is legal.
  void merge_readers(NodeId n) {
    const Groups readers = readers_of(n);
    for (size_t i = 0; i < readers.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const int a = groups_.find(readers[j]);
        const int b = groups_.find(readers[i]);
        if (a == b) continue;
        const std::optional<Projection> position = position_in(n, a);
        if (!position || position_in(n, b) != position || !mergeable(a, b)) continue;
        const bool same_rows = group(a).axes == group(b).axes;
        if (!same_rows && (belongs_to_other_rows(n, a) || belongs_to_other_rows(n, b))) continue;
        groups_.merge(a, b);
      }
    }
  }

  // In how many places of its group `n` would be computed: one for all reads in step, and one for
  // each of the others.
  void count_recomputations(NodeId n) {
    int in_step = 0;
    int others = 0;
    for (const Use& use : uses_.of(n)) {
      const int times = recomputations_[use.consumer];
      const bool direct = node(use.consumer).operands[use.operand].node == n;
      if (direct && is_pointwise(node(use.consumer).op)) {
        in_step = std::max(in_step, times);
      } else if (is_reduction(node(use.consumer).op)) {
        in_step = std::max(in_step, 1);
      } else {
        others += times;
      }
    }
    recomputations_[n] = in_step + others;
  }

  bool is_free(NodeId n) const { return class_of(node(n).op) == OpClass::kSource; }

  // A value that costs less to compute again from one operand in memory than to write and read.
  bool is_cheap(NodeId n) const {
    if (!is_pointwise(node(n).op) || is_costly(node(n).op)) return false;
    int operands = 0;
    for (const GraphOperand& operand : node(n).operands) {
      if (operand.is_scalar()) continue;
      const NodeId value = viewed(operand.node);
      if (is_free(value)) continue;
      if (node(value).op != Op::kInput && !uses_.observed(value)) return false;
      ++operands;
    }
    return operands <= 1;
  }

  std::optional<CutReason> reason_to_store(NodeId n, absl::Span<const int> readers) {
    if (is_free(n)) return std::nullopt;
    for (int g : readers) {
      if (!has_room(g, n)) return CutReason::kBudget;
    }
    if (recomputations_[n] > kMaxRecomputations && !is_cheap(n)) return CutReason::kCost;
    const int64_t elements = node(n).shape.numel();
    if (readers.size() == 1) {
      const int g = readers[0];
      // What varies along rows only is computed once a row.
      const bool once_a_row =
          !group(g).axes.empty() && position_in(n, g) == outer_dims(group(g).space, group(g).axes);
      const bool repeated = elements > 1 && is_costly(node(n).op) && !once_a_row &&
                            group(g).space.numel() / elements >= kMaxBroadcastOfCostly &&
                            !axes_to_come(n, g);
      return repeated ? std::optional(CutReason::kCost) : std::nullopt;
    }
    if (is_cheap(n)) return std::nullopt;
    for (size_t i = 1; i < readers.size(); ++i) {
      const Group& a = group(readers[0]);
      const Group& b = group(readers[i]);
      if (a.space != b.space) return CutReason::kShape;
      if (a.axes == b.axes) continue;
      const bool is_one_use = a.axes.empty() || b.axes.empty();
      return is_one_use && !rows_fit(a.space, a.axes.empty() ? b.axes : a.axes) ? CutReason::kRow
                                                                                : CutReason::kShape;
    }
    return CutReason::kOrder;
  }

  // If `n` is made from a reduction over the dims of `g` that it does not vary along, the axes of
  // that: once the reduction has joined, `n` is computed once a row.
  std::optional<std::vector<int>> axes_to_come(NodeId n, int g) {
    const std::optional<Projection> position = position_in(n, g);
    if (!position || !group(g).axes.empty()) return std::nullopt;
    NodeId at = n;
    for (int depth = 0; depth < kMaxWeight; ++depth) {
      NodeId next = kNoNode;
      for (const GraphOperand& operand : node(at).operands) {
        if (operand.is_scalar()) continue;
        const NodeId value = viewed(operand.node);
        if (is_reduction(node(value).op)) {
          const auto [space, axes] = rows_of(value);
          const bool fits = space == group(g).space && rows_fit(space, axes) &&
                            outer_dims(space, axes) == *position;
          return fits ? std::optional(axes) : std::nullopt;
        }
        if (next == kNoNode && is_pointwise(node(value).op)) next = value;
      }
      if (next == kNoNode) return std::nullopt;
      at = next;
    }
    return std::nullopt;
  }

  void add_member(NodeId n, int g) {
    groups_.add_member(g, n, weight_of(node(n).op));
    groups_of_[n].push_back(g);
  }

  // True if `g` may run before the other readers of something.
  bool comes_first(int g, absl::Span<const int> readers) const {
    return std::none_of(readers.begin(), readers.end(),
                        [&](int other) { return other != g && groups_.reaches(other, g); });
  }

  // Stores `n` from a group that computes it in step, if there is one that may come before the
  // others.
  void store(NodeId n, absl::Span<const int> readers, CutReason reason) {
    recomputations_[n] = 1;  // its readers find it in memory
    for (int g : readers) {
      if (is_view(node(n).op) || group(g).library || !has_room(g, n)) continue;
      if (!comes_first(g, readers) || belongs_to_other_rows(n, g)) continue;
      if (!can_store(n, g)) {
        const std::optional<std::vector<int>> axes = axes_to_come(n, g);
        if (!axes) continue;
        group(g).axes = *axes;
      }
      positions_[n] = position_in(n, g);
      add_member(n, g);
      finish_store(n, g, readers, reason);
      return;
    }
    store_in_new_group(n, own_space(n), reason);
  }

  // True if `n`, which will be in memory in any case, is made from reductions over other rows than
  // those of `g`: it is then stored by the kernel that reduces these, which has its operands at
  // hand, and `g` reads it.
  bool belongs_to_other_rows(NodeId n, int g) const {
    if (group(g).axes.empty() || node(n).shape != group(g).space) return false;
    constexpr size_t kMaxVisited = 64;
    absl::InlinedVector<NodeId, 16> visited = {n};
    for (size_t i = 0; i < visited.size() && visited.size() < kMaxVisited; ++i) {
      for (const GraphOperand& operand : node(visited[i]).operands) {
        if (operand.is_scalar()) continue;
        const NodeId value = viewed(operand.node);
        if (is_reduction(node(value).op)) {
          const auto [space, axes] = rows_of(value);
          if (space == node(n).shape && axes != group(g).axes && rows_fit(space, axes)) return true;
        } else if (is_pointwise(node(value).op) && !uses_.observed(value) &&
                   std::find(visited.begin(), visited.end(), value) == visited.end()) {
          visited.push_back(value);
        }
      }
    }
    return false;
  }

  int store_in_new_group(NodeId n, const Shape& space, CutReason reason) {
    const Groups readers = readers_of(n);
    const int g = groups_.add(space);
    positions_[n] = all_dims(space);
    add_member(n, g);
    finish_store(n, g, readers, reason);
    return g;
  }

  void finish_store(NodeId n, int g, absl::Span<const int> readers, CutReason reason) {
    result_.stored[n] = true;
    groups_.add_output(g);
    bool cut = false;
    for (int reader : readers) {
      if (reader == g) continue;
      groups_.add_reader(g, reader);
      cut = true;
    }
    if (cut) result_.cuts.push_back({n, reason});
  }

  // Kernels over the same space that read the same memory become one: it is then read once.
  void merge_siblings() {
    absl::flat_hash_map<NodeId, std::vector<int>> readers_by_value;
    for (NodeId n = 0; n < size_; ++n) {
      if (!uses_.computes(n)) continue;
      for (const GraphOperand& operand : node(n).operands) {
        if (operand.is_scalar()) continue;
        const NodeId value = viewed(operand.node);
        if (node(value).op != Op::kInput && !result_.stored[value]) continue;
        for (int g : groups_of_[n]) {
          g = groups_.find(g);
          if (group(g).library || group(g).space.numel() != node(value).shape.numel()) continue;
          std::vector<int>& candidates = readers_by_value[value];
          bool done = false;
          for (int& other : candidates) {
            other = groups_.find(other);
            done = done || other == g;
            if (!done && mergeable(other, g)) {
              groups_.merge(other, g);
              done = true;
            }
          }
          if (!done) candidates.push_back(g);
        }
      }
    }
  }

  const Graph& graph_;
  const Constraints& constraints_;
  const bool fuse_;
  const NodeId size_;
  const Uses uses_;

  GroupGraph groups_;
  std::vector<absl::InlinedVector<int, 1>> groups_of_;
  // By node: the groups that compute it only where they read it at computed indices.
  std::vector<absl::InlinedVector<int, 1>> at_index_in_;
  std::vector<int> recomputations_;
  // Along which dims of its group's space a node varies, if that can be said so simply.
  std::vector<std::optional<Projection>> positions_;
  Partition result_;
};

}  // namespace

NodeId viewed_node(const Graph& graph, const Constraints& constraints, NodeId node) {
  while (is_view(graph.nodes[node].op) && !constraints.copied_view[node]) {
    node = graph.nodes[node].operands[0].node;
  }
  return node;
}

Partition partition(const Graph& graph, const Constraints& constraints, bool fuse) {
  return Partitioner(graph, constraints, fuse).run();
}

}  // namespace sluice::fusion
