// Results that are better laid out as their operands are than in row-major order.
#ifndef SLUICE_FUSION_GRAPH_KEPT_LAYOUTS_H_
#define SLUICE_FUSION_GRAPH_KEPT_LAYOUTS_H_

#include "absl/container/flat_hash_map.h"
#include "fusion/graph/graph.h"
#include "runtime/layout.h"

namespace sluice::fusion {

// By node: the strides of a live result of pointwise ops, pads, concats and rolls, all of whose
// operands lie in memory in one order of dims, which is not row-major. It has no gaps, and is
// written in the order in which its operands are read. Only of results that nothing else in the
// graph reads.
absl::flat_hash_map<NodeId, Strides> find_kept_layouts(const Graph& graph);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_GRAPH_KEPT_LAYOUTS_H_
