#include "fusion/partition/partition.h"

#include <utility>

#include "fusion/graph/uses.h"
#include "fusion/partition/placement.h"
#include "fusion/partition/row_facts.h"
#include "fusion/partition/short_rows.h"
#include "fusion/partition/siblings.h"

namespace sluice::fusion {

bool is_long_concat(const GraphNode& node, bool is_read) {
  // To keep it from memory makes up for telling some more parts apart.
  constexpr size_t kMaxParts = 8, kMaxPartsIfRead = 16;
  return class_of(node.op) == OpClass::kConcat &&
         node.operands.size() > (is_read ? kMaxPartsIfRead : kMaxParts);
}

Partition partition(const Graph& graph, const Constraints& constraints, bool fuse) {
  const Uses uses(graph, constraints);
  const RowFacts row_facts(graph, uses);
  Placement placement = place_nodes(graph, constraints, uses, row_facts, fuse);
  if (fuse) merge_siblings(graph, uses, placement.stored, &placement.groups);
  std::vector<Group> groups = std::move(placement.groups).in_order();
  if (constraints.unrolls_rows) {
    for (Group& group : groups) unroll_short_rows(graph, &group);
  }
  return {.groups = std::move(groups),
          .stored = std::move(placement.stored),
          .cuts = std::move(placement.cuts)};
}

}  // namespace sluice::fusion
