// Which nodes share a kernel, and which values go through memory between kernels.
#ifndef SLUICE_FUSION_PARTITION_PARTITION_H_
#define SLUICE_FUSION_PARTITION_PARTITION_H_

#include <vector>

#include "fusion/graph/graph.h"
#include "fusion/partition/cut.h"

namespace sluice::fusion {

// One kernel or library call to be. `members` are its nodes, operands before users; those that are
// `stored` in the Partition are its outputs.
struct Group {
  Shape space;            // of the iteration: the outputs' shape, or the reductions' operand's
  std::vector<int> axes;  // the reduced axes of `space`; empty: pointwise
  bool library = false;
  std::vector<NodeId> members;
};

struct Partition {
  std::vector<Group> groups;  // in an order in which they can run
  std::vector<bool> stored;   // by node: its value is in memory after its group (false for inputs)
  std::vector<CutEdge> cuts;
};

// By node: facts that the lowering found out and that bind the next attempt.
struct Constraints {
  std::vector<bool> copied_view;  // a view that has to be copied into memory of its own
  std::vector<bool> in_memory;  // a node that has to be stored, for a reader that cannot inline it
};

// `fuse` false: every node that computes is a group of its own.
Partition partition(const Graph& graph, const Constraints& constraints, bool fuse);

// The node that `node` is a view of, through any number of views that are not copied.
NodeId viewed_node(const Graph& graph, const Constraints& constraints, NodeId node);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PARTITION_PARTITION_H_
