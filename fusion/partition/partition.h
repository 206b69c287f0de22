// Which nodes share a kernel, and which values go through memory between kernels.
#ifndef SLUICE_FUSION_PARTITION_PARTITION_H_
#define SLUICE_FUSION_PARTITION_PARTITION_H_

#include <vector>

#include "fusion/graph/constraints.h"
#include "fusion/graph/graph.h"
#include "fusion/partition/cut.h"

namespace sluice::fusion {

// One future kernel or library call. `members` are its nodes, operands before users; those that are
// `stored` in the Partition are its outputs.
//
// Unrolled axes are no dims of the kernel's iteration: at each of its points it computes what lies
// along them, and reductions along them are expressions of their elements.
struct Group {
  Shape space;                // of the iteration: the outputs' shape, or the reductions' operand's
  std::vector<int> axes;      // the reduced axes of `space`; empty: pointwise
  std::vector<int> unrolled;  // none of `axes`
  bool library = false;
  // Its only output is a concat, each part of which is a call of its own (is_by_parts): few
  // programs, and of a few instructions, however many the parts.
  bool by_parts = false;
  bool alone = false;  // it stores one value, so that this can be computed at any time
  std::vector<NodeId> members;
};

// True for a concat of so many parts that one kernel would do little else than tell them apart, and
// for one of which parts alone are better: they are whole blocks of its memory, transposed, or some
// vectors of each row.
// `is_read`: by another node, whose kernel might compute it.
bool is_by_parts(const Graph& graph, const GraphNode& node, bool is_read);

struct Partition {
  std::vector<Group> groups;  // in an order in which they can run
  std::vector<bool> stored;   // by node: its value is in memory after its group (false for inputs)
  std::vector<CutEdge> cuts;
};

// The partition of the nodes that something live needs. `fuse` false: every node that computes is a
// group of its own.
//
// In three steps, a file each: facts about reductions (row_facts.h), placement of every node in the
// groups of its readers or in one of its own (placement.h), and joining groups that read the same
// memory (siblings.h). Placement asks where values are in groups (positions.h) and why they would
// go through memory (storage_reasons.h).
Partition partition(const Graph& graph, const Constraints& constraints, bool fuse);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PARTITION_PARTITION_H_
