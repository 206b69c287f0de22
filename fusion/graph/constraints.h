// What lowering found out about a graph and what binds the next attempt to partition it.
#ifndef SLUICE_FUSION_GRAPH_CONSTRAINTS_H_
#define SLUICE_FUSION_GRAPH_CONSTRAINTS_H_

#include <vector>

#include "fusion/graph/graph.h"
#include "fusion/ir/epilogue_ops.h"
#include "fusion/ir/scan.h"

namespace sluice::fusion {

// All by node. Views are index maps and occupy no memory unless they are copied.
struct Constraints {
  std::vector<bool> copied_view;  // this view must be copied into memory of its own
  std::vector<bool> in_memory;    // this node must be stored: a reader cannot inline it
  std::vector<bool> over_budget;  // of these: the kernel of a reader that does would be too large
  std::vector<bool> breaks_runs;  // of these: see fusion/lower/loops/short_runs.h
  std::vector<bool> is_factor;    // of these: see fusion/partition/epilogue_ends.h
  // Of the whole graph: as in PlanOptions.
  bool unrolls_rows = true;
  bool unrolls_longer_rows = false;
  bool fuses_scans = true;
  EpilogueUse epilogues = EpilogueUse::kNone;
  bool saves_memory = false;  // rather than time

  // Adds those of `other`, which are of the same graph.
  void add(const Constraints& other);
};

// True for an op that is a call of a library: scans may be instructions of programs instead.
inline bool is_library_call(const Constraints& constraints, Op op) {
  return class_of(op) == OpClass::kLibrary && !(constraints.fuses_scans && is_scan(op));
}

// The node that `node` is a view of, through any number of views that are not copied.
inline NodeId viewed_node(const Graph& graph, const Constraints& constraints, NodeId node) {
  while (is_view(graph.nodes[node].op) && !constraints.copied_view[node]) {
    node = graph.nodes[node].operands[0].node;
  }
  return node;
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_GRAPH_CONSTRAINTS_H_
