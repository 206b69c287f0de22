// Puts every node into the groups of its readers or into one of its own.
#ifndef SLUICE_FUSION_PARTITION_PLACEMENT_H_
#define SLUICE_FUSION_PARTITION_PLACEMENT_H_

#include <vector>

#include "fusion/graph/uses.h"
#include "fusion/partition/group_graph.h"
#include "fusion/partition/row_facts.h"

namespace sluice::fusion {

struct Placement {
  GroupGraph groups;
  std::vector<bool> stored;   // as in Partition
  std::vector<CutEdge> cuts;  // likewise
};

// Walks from users to operands: when a node is placed, all its readers are. What the readers' side
// cannot tell, the reductions that a value is made from, `row_facts` has collected beforehand.
//
// - A library op is a group and is stored.
// - A reduction joins a group that walks the same rows and reads the result once a row, or one
//   whose points become its rows. Otherwise it opens a group over its operand's shape.
// - Any other op is computed in every group that reads it, unless there is a reason to store it
//   (storage_reasons.h). Then a group that computes it once a point or once a row stores it, if it
//   can run before the other readers; otherwise it opens a group, which its operands may join.
// - Groups that read a node in step become one first, where neither waits for the other.
//
// A value made from reductions over other rows than those of a reading group is left to the kernel
// of these reductions, which has its operands at hand.
//
// `fuse` false: every node is a group.
Placement place_nodes(const Graph& graph, const Constraints& constraints, const Uses& uses,
                      const RowFacts& row_facts, bool fuse);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PARTITION_PLACEMENT_H_
