// Where values are in the iteration spaces of the groups that compute or read them.
#ifndef SLUICE_FUSION_PARTITION_POSITIONS_H_
#define SLUICE_FUSION_PARTITION_POSITIONS_H_

#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "fusion/graph/projection.h"
#include "fusion/graph/uses.h"
#include "fusion/partition/group_graph.h"
#include "fusion/partition/row_facts.h"

namespace sluice::fusion {

// A value's position in a group is the Projection that gives the element each point of the group's
// space needs: the dims along which the value varies. It is nullopt where the index is not of that
// form, which forbids nothing but sharing and storing the value there.
class Positions {
 public:
  // Refers to all arguments, which must outlive it.
  Positions(const Graph& graph, const Constraints& constraints, const Uses& uses,
            const GroupGraph& groups);

  // ---- Of members, as they are placed, in each of their groups.

  void set(NodeId n, int g, std::optional<Projection> position);

  // The points of group `g` become the rows that `reduction`, with a result of the group's shape,
  // walks: moves the members' positions to the dims of `rows.space`. To be called before the
  // group's space is changed.
  void move_to_rows(int g, const Rows& rows, NodeId reduction);

  bool is_member(NodeId n, int g) const;
  // True if the member `n` is computed once a row of those that `g` reduces.
  bool is_at_row_ends(NodeId n, int g) const;

  // ---- Of reads. They follow from the positions of the consumers.

  // The position at which `use` reads its value, in group `g` of its consumer.
  std::optional<Projection> of_read(const Use& use, int g) const;
  // The position at which all reads of `n` in `g` are in step; nullopt if they differ.
  std::optional<Projection> of_reads(NodeId n, int g) const;
  // True if `use` in `g` reads single elements at computed indices.
  bool reads_at_index(const Use& use, int g) const;

  // True if `g` reads `n` once a row of those that it reduces.
  bool once_a_row(NodeId n, int g) const;
  // True if `g` can store `n` as it goes: it computes it once a point or once a row.
  bool can_store(NodeId n, int g) const;

 private:
  const GraphNode& node(NodeId n) const { return graph_.nodes[n]; }
  bool is_seen_through(NodeId n) const {
    return is_view(node(n).op) && !constraints_.copied_view[n];
  }

  const Graph& graph_;
  const Constraints& constraints_;
  const Uses& uses_;
  const GroupGraph& groups_;
  struct Member {
    int group;  // as it was then: see GroupGraph::find()
    Projection position;
  };
  std::optional<Projection> of_member(NodeId n, int g) const;

  std::vector<absl::InlinedVector<Member, 1>> members_;  // by node
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PARTITION_POSITIONS_H_
