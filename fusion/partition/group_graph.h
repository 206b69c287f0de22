// Groups under construction: what is in them, and which of them read what others store.
#ifndef SLUICE_FUSION_PARTITION_GROUP_GRAPH_H_
#define SLUICE_FUSION_PARTITION_GROUP_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "fusion/graph/uses.h"
#include "fusion/partition/partition.h"
#include "fusion/partition/reachability.h"

namespace sluice::fusion {

using GroupNumbers = absl::InlinedVector<int, 4>;

// Groups are numbered as they are made. A group that was merged into another is known by that
// group's number: see find().
class GroupGraph {
 public:
  // `graph` must outlive this.
  GroupGraph(const Graph& graph, int max_outputs)
      : graph_(&graph), max_outputs_(max_outputs), memberships_(graph.nodes.size()) {}

  int add(const Shape& space);
  Group& at(int g) { return states_[g].group; }
  const Group& at(int g) const { return states_[g].group; }

  // The group that `g` is part of now.
  int find(int g) const;

  // ---- Members. A node can be a member of several groups, each of which computes it.

  // `at_index`: the group computes `n` only at computed indices.
  void add_member(int g, NodeId n, bool at_index = false);
  bool has_member(int g, NodeId n) const;
  bool has_member_at_index(int g, NodeId n) const;
  // The groups that `n` is a member of. Groups that were merged meanwhile may occur twice.
  GroupNumbers groups_of(NodeId n) const;
  // The groups whose members are the consumers of `uses`, each once, in that order.
  GroupNumbers readers(absl::Span<const Use> uses) const;

  // Counts one more output of `g`.
  void add_output(int g) { ++states_[g].outputs; }
  // True if `n` fits into `g` as a member and an output: within kMaxWeight and kMaxOutputs.
  bool has_room(int g, NodeId n) const;
  // True if `g` stays within its limits where `axes` are unrolled.
  bool has_room_unrolled(int g, const std::vector<int>& axes) const;

  // ---- Order.

  // `reader` reads something that `g` stores.
  void add_reader(int g, int reader);
  // True if some path of reads leads from `from` to `to`: they cannot be one kernel, nor can `from`
  // read what `to` stores.
  bool reaches(int from, int to) const { return order_.reaches(from, to); }

  // True if `a` and `b` can be one kernel: they iterate over the same space and rows, neither
  // waits for the other, and together they stay within the limits.
  bool can_merge(int a, int b) const;
  // Makes `from` part of `into`.
  void merge(int into, int from);

  // All groups, members sorted, in an order in which they can run: of the groups that are ready,
  // the one whose last member was recorded first.
  std::vector<Group> in_order() &&;

 private:
  struct State {
    Group group;
    GroupNumbers readers;
    int parent = -1;
    // Of the members; those that merged groups had in common count twice.
    int weight = 0;
    int long_code = 0;
    int outputs = 0;
  };

  struct Membership {
    int group;
    bool at_index;
  };

  const Graph* graph_;
  int max_outputs_;
  std::vector<State> states_;
  Reachability order_;                                           // from what is read to its readers
  std::vector<absl::InlinedVector<Membership, 1>> memberships_;  // by node
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PARTITION_GROUP_GRAPH_H_
