#include "fusion/partition/placement.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "fusion/graph/projection.h"
#include "fusion/ir/cost.h"
#include "fusion/ir/scan.h"
#include "fusion/partition/epilogue_ends.h"
#include "fusion/partition/positions.h"
#include "fusion/partition/short_rows.h"
#include "fusion/partition/storage_reasons.h"

namespace sluice::fusion {
namespace {

class Placer {
 public:
  Placer(const Graph& graph, const Constraints& constraints, const Uses& uses,
         const RowFacts& row_facts, bool fuse)
      : graph_(graph),
        constraints_(constraints),
        uses_(uses),
        row_facts_(row_facts),
        fuse_(fuse),
        groups_(graph, constraints.saves_memory ? kMaxOutputsForMemory : kMaxOutputs),
        positions_(graph, constraints, uses, groups_),
        reasons_(graph, constraints, uses, row_facts, groups_, positions_),
        stored_(graph.nodes.size(), false) {}

  Placement run() && {
    for (NodeId n = static_cast<NodeId>(graph_.nodes.size()) - 1; n >= 0; --n) {
      if (uses_.computes(n)) place(n);
    }
    return {std::move(groups_), std::move(stored_), std::move(cuts_)};
  }

 private:
  const GraphNode& node(NodeId n) const { return graph_.nodes[n]; }
  Group& group(int g) { return groups_.at(g); }
  const Group& group(int g) const { return groups_.at(g); }

  GroupNumbers readers_of(NodeId n) const { return groups_.readers(uses_.of(n)); }

  void place(NodeId n) {
    const OpClass op_class = class_of(node(n).op);
    if (is_library_call(constraints_, node(n).op)) {
      const int g = store_in_new_group(n, node(n).shape, CutReason::kLibrary);
      group(g).library = true;
      positions_.set(n, g, std::nullopt);
    } else if (op_class == OpClass::kReduction) {
      place_reduction(n);
    } else if (is_scan(node(n).op)) {
      place_scan(n);
    } else if (is_by_parts(graph_, node(n), !uses_.of(n).empty())) {
      const CutReason reason = reasons_.required(n).value_or(CutReason::kBudget);
      const int g = store_in_new_group(n, node(n).shape, reason);
      group(g).by_parts = true;
      positions_.set(n, g, std::nullopt);
    } else if (!fuse_) {
      store_in_new_group(n, own_space(n), CutReason::kFusionOff);
    } else {
      place_inlineable(n);
    }
  }

  Shape own_space(NodeId n) const {
    // A copied reshape walks its operand: both are in row-major order.
    return node(n).op == Op::kReshape ? node(node(n).operands[0].node).shape : node(n).shape;
  }

  // ---- Reductions.

  void place_reduction(NodeId n) {
    const Rows rows = rows_of(graph_, n);
    const std::optional<CutReason> required = reasons_.required(n);
    const CutReason reason = required.value_or(
        rows_fit(rows.space, rows.axes) ? CutReason::kReduction : CutReason::kRow);
    int home = -1;
    if (fuse_ && !constraints_.in_memory[n]) {
      merge_readers(n);
      const GroupNumbers readers = readers_of(n);
      home = home_of_reduction(n, rows, readers);
      if (home >= 0) {
        if (group(home).space != rows.space) {
          positions_.move_to_rows(home, rows, n);
          group(home).space = rows.space;
        }
        groups_.add_member(home, n);
        if (required || readers.size() > 1) finish_store(n, home, readers, reason);
      }
    }
    if (home < 0) home = store_in_new_group(n, rows.space, reason);
    Group& reducing = group(home);
    const bool reduces_other_axes = !reducing.axes.empty() && reducing.axes != rows.axes;
    (reduces_other_axes ? reducing.unrolled : reducing.axes) = rows.axes;
    positions_.set(n, home, outer_dims(rows.space, rows.axes));
  }

  // A scan joins a group that walks its rows, or whose points can be walked so, and reads it in
  // step.
  void place_scan(NodeId n) {
    const std::vector<int> axes = {static_cast<int>(node(n).attrs[0])};
    const std::optional<CutReason> required = reasons_.required(n);
    const CutReason reason =
        !fuse_ ? CutReason::kFusionOff
               : required.value_or(rows_fit(node(n).shape, axes) ? CutReason::kShape
                                                                 : CutReason::kRow);
    int home = -1;
    if (fuse_ && !constraints_.in_memory[n]) {
      merge_readers(n);
      const GroupNumbers readers = readers_of(n);
      for (const int g : readers) {
        if (home >= 0 || !may_store(g, n) || !comes_first(g, readers)) continue;
        if (can_scan(n, g, axes)) home = g;
      }
      if (home >= 0) {
        groups_.add_member(home, n);
        if (required || readers.size() > 1) finish_store(n, home, readers, reason);
      }
    }
    if (home < 0) home = store_in_new_group(n, node(n).shape, reason);
    group(home).axes = axes;
    positions_.set(n, home, all_dims(node(n).shape));
  }

  // True if `g` can scan `n` along `axes`.
  bool can_scan(NodeId n, int g, const std::vector<int>& axes) const {
    const Group& reader = group(g);
    if (reader.library || reader.by_parts || reader.space != node(n).shape) return false;
    if (!reader.unrolled.empty() || (!reader.axes.empty() && reader.axes != axes)) return false;
    const bool fits = rows_fit(reader.space, axes);
    return positions_.of_reads(n, g) == all_dims(reader.space) &&
           std::none_of(reader.members.begin(), reader.members.end(), [&](NodeId member) {
             return is_view(node(member).op) || (!fits && is_shared(node(member).op));
           });
  }

  // The group among `readers` that can compute the reduction `n`, or -1.
  int home_of_reduction(NodeId n, const Rows& rows, absl::Span<const int> readers) const {
    for (int g : readers) {
      if (!may_store(g, n) || !comes_first(g, readers)) continue;
      if (walks_rows(n, g, rows) || unrolls_rows(n, g, rows)) return g;
      if (can_follow_rows(n, g, rows)) return g;
    }
    return -1;
  }

  // True if `g` walks `rows` and reads `n` once a row.
  bool walks_rows(NodeId n, int g, const Rows& rows) const {
    const Group& reader = group(g);
    return !reader.library && reader.space == rows.space &&
           (reader.axes.empty() || reader.axes == rows.axes) &&
           positions_.of_reads(n, g) == outer_dims(rows.space, rows.axes) &&
           (rows_fit(rows.space, rows.axes) || (!reader.axes.empty() && is_for_row_ends(n, g)));
  }

  // True if all that `g` computes from `n` it computes once a row, so that it need not walk its
  // rows again.
  bool is_for_row_ends(NodeId n, int g) const {
    absl::flat_hash_set<NodeId> found = {n};
    std::vector<NodeId> pending = {n};
    while (!pending.empty()) {
      const NodeId value = pending.back();
      pending.pop_back();
      for (const Use& use : uses_.of(value)) {
        if (!positions_.is_member(use.consumer, g)) continue;
        if (!is_pointwise(node(use.consumer).op) || !positions_.is_at_row_ends(use.consumer, g)) {
          return false;
        }
        if (found.insert(use.consumer).second) pending.push_back(use.consumer);
      }
    }
    return true;
  }

  // True if `g` reduces other rows of the same space and can unroll these, of which it reads `n`.
  bool unrolls_rows(NodeId n, int g, const Rows& rows) const {
    const Group& reader = group(g);
    if (reader.library || reader.space != rows.space || reader.axes.empty()) return false;
    if (!reader.unrolled.empty() && reader.unrolled != rows.axes) return false;
    return constraints_.unrolls_rows && can_unroll(rows, reader.axes) &&
           groups_.has_room_unrolled(g, rows.axes) &&
           positions_.of_reads(n, g) == outer_dims(rows.space, rows.axes);
  }

  // True if each point of `g` reads one element of `n` and can be computed after the row that gives
  // this element.
  bool can_follow_rows(NodeId n, int g, const Rows& rows) const {
    const Group& reader = group(g);
    const bool copies = std::any_of(reader.members.begin(), reader.members.end(),
                                    [&](NodeId member) { return is_view(node(member).op); });
    return !copies && !reader.library && reader.axes.empty() && reader.space == node(n).shape &&
           positions_.of_reads(n, g) == all_dims(reader.space) &&
           (row_length(rows.space, rows.axes) >= kMinRowForEpilogue ||
            (constraints_.unrolls_rows && is_short_row(rows.space, rows.axes))) &&
           rows.space.numel() > 0;
  }

  // ---- Everything that can be computed where it is read.

  void place_inlineable(NodeId n) {
    merge_readers(n);
    std::optional<CutReason> reason = reasons_.required(n);
    const GroupNumbers readers = reason ? readers_of(n) : inline_at_index(n);
    if (readers.empty() && !reason) return;
    if (!reason && is_view(node(n).op)) reason = CutReason::kView;
    if (!reason) reason = reasons_.preferred(n, readers);
    if (reason) {
      store(n, readers, *reason);
      return;
    }
    for (int g : readers) {
      positions_.set(n, g, positions_.of_reads(n, g));
      groups_.add_member(g, n);
    }
  }

  // Merges groups that read `n` in step, where that is legal.
  void merge_readers(NodeId n) {
    const GroupNumbers readers = readers_of(n);
    for (size_t i = 0; i < readers.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const int a = groups_.find(readers[j]);
        const int b = groups_.find(readers[i]);
        if (a == b) continue;
        const std::optional<Projection> position = positions_.of_reads(n, a);
        if (!position || positions_.of_reads(n, b) != position || !groups_.can_merge(a, b)) {
          continue;
        }
        const bool same_rows = group(a).axes == group(b).axes;
        if (!same_rows && (belongs_to_other_rows(n, a) || belongs_to_other_rows(n, b))) continue;
        groups_.merge(a, b);
      }
    }
  }

  // Computes `n` in each group whose reads of it are all at computed indices; returns the other
  // readers.
  GroupNumbers inline_at_index(NodeId n) {
    GroupNumbers rest;
    const absl::Span<const Use> uses = uses_.of(n);
    for (int g : readers_of(n)) {
      const bool only = std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
        return !groups_.has_member(g, use.consumer) || positions_.reads_at_index(use, g);
      });
      if (only && is_computed_at_index(node(n).op) && groups_.has_room(g, n)) {
        groups_.add_member(g, n, /*at_index=*/true);
      } else {
        rest.push_back(g);
      }
    }
    return rest;
  }

  // True if `n`, which `g` reads at every point, is made from reductions over other rows than those
  // of `g`. The kernel of these reductions then stores `n`, and `g` reads it.
  bool belongs_to_other_rows(NodeId n, int g) const {
    const Group& reader = group(g);
    return !reader.axes.empty() && node(n).shape == reader.space &&
           row_facts_.made_from_other_rows(n, reader.space, reader.axes);
  }

  // ---- Storing.

  bool may_store(int g, NodeId n) const { return !group(g).alone && groups_.has_room(g, n); }

  // True if `g` may run before the other readers of something.
  bool comes_first(int g, absl::Span<const int> readers) const {
    return std::none_of(readers.begin(), readers.end(),
                        [&](int other) { return other != g && groups_.reaches(other, g); });
  }

  // Stores `n` from the first of `readers` that can, or from a new group.
  void store(NodeId n, absl::Span<const int> readers, CutReason reason) {
    reasons_.note_stored(n);
    // The point is to leave their kernels.
    if (constraints_.over_budget[n] || constraints_.breaks_runs[n] || constraints_.is_factor[n]) {
      readers = {};
    }
    // A product's call may store it.
    if (reason == CutReason::kLibrary && ends_epilogues(graph_, constraints_, uses_, n)) {
      readers = {};
    }
    for (int g : readers) {
      if (is_view(node(n).op) || group(g).library || !may_store(g, n)) continue;
      if (!comes_first(g, readers) || belongs_to_other_rows(n, g)) continue;
      if (is_shared(node(n).op) && scans_long_rows(graph_, group(g))) continue;
      if (!positions_.can_store(n, g) && !becomes_rows(n, g)) continue;
      positions_.set(n, g, positions_.of_reads(n, g));
      groups_.add_member(g, n);
      finish_store(n, g, readers, reason);
      return;
    }
    const int own = store_in_new_group(n, own_space(n), reason);
    group(own).alone = constraints_.is_factor[n];
  }

  // Gives the pointwise group `g` the rows that `n` is made from, if it reads `n` once a row of
  // them: their reduction will join it.
  bool becomes_rows(NodeId n, int g) {
    if (!group(g).axes.empty()) return false;
    const std::optional<Projection> position = positions_.of_reads(n, g);
    if (!position) return false;
    const Rows* rows = row_facts_.rows_computing(n, group(g).space, *position);
    if (rows == nullptr) return false;
    group(g).axes = rows->axes;
    return true;
  }

  int store_in_new_group(NodeId n, const Shape& space, CutReason reason) {
    const GroupNumbers readers = readers_of(n);
    const int g = groups_.add(space);
    positions_.set(n, g, all_dims(space));
    groups_.add_member(g, n);
    finish_store(n, g, readers, reason);
    return g;
  }

  // `g` stores `n`, and those of `readers` that are other groups read it from memory.
  void finish_store(NodeId n, int g, absl::Span<const int> readers, CutReason reason) {
    stored_[n] = true;
    groups_.add_output(g);
    bool cut = false;
    for (int reader : readers) {
      if (reader == g) continue;
      groups_.add_reader(g, reader);
      cut = true;
    }
    if (cut) cuts_.push_back({n, reason});
  }

  const Graph& graph_;
  const Constraints& constraints_;
  const Uses& uses_;
  const RowFacts& row_facts_;
  const bool fuse_;

  GroupGraph groups_;
  Positions positions_;
  StorageReasons reasons_;
  std::vector<bool> stored_;
  std::vector<CutEdge> cuts_;
};

}  // namespace

Placement place_nodes(const Graph& graph, const Constraints& constraints, const Uses& uses,
                      const RowFacts& row_facts, bool fuse) {
  return Placer(graph, constraints, uses, row_facts, fuse).run();
}

}  // namespace sluice::fusion
