// Groups under construction, and which of them read what others store.
#ifndef SLUICE_FUSION_PARTITION_GROUP_GRAPH_H_
#define SLUICE_FUSION_PARTITION_GROUP_GRAPH_H_

#include <vector>

#include "absl/container/inlined_vector.h"
#include "fusion/partition/partition.h"

namespace sluice::fusion {

// Groups are numbered as they are made. A group that was merged into another is known by that one's
// number: see find().
class GroupGraph {
 public:
  int add(const Shape& space);
  Group& at(int g) { return states_[g].group; }
  const Group& at(int g) const { return states_[g].group; }

  // The group that `g` is part of now.
  int find(int g) const;

  void add_member(int g, NodeId n, int weight) {
    at(g).members.push_back(n);
    states_[g].weight += weight;
  }
  void add_output(int g) { ++states_[g].outputs; }
  // Of its members; those that merged groups had in common count twice.
  int weight(int g) const { return states_[g].weight; }
  int outputs(int g) const { return states_[g].outputs; }
  // `reader` reads something that `g` stores.
  void add_reader(int g, int reader) { states_[g].readers.push_back(reader); }
  // True if some path of reads leads from `from` to `to`: they cannot be one kernel, nor can `from`
  // read what `to` stores.
  bool reaches(int from, int to) const;

  // Makes one group of two that neither reaches; they keep `into`'s number.
  void merge(int into, int from);

  // All groups, members sorted, in an order in which they can run: of those that are ready the one
  // whose last member was recorded first.
  std::vector<Group> in_order() &&;

 private:
  struct State {
    Group group;
    absl::InlinedVector<int, 4> readers;
    int parent = -1;
    int weight = 0;
    int outputs = 0;
  };
  std::vector<State> states_;
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PARTITION_GROUP_GRAPH_H_
