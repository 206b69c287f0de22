#include "fusion/partition/siblings.h"

#include <vector>

namespace sluice::fusion {
namespace {

// Merges `g` into one of `candidates`, or makes it another candidate.
void merge_into_one_of(GroupGraph* groups, GroupNumbers& candidates, int g) {
  for (int& candidate : candidates) {
    candidate = groups->find(candidate);
    if (candidate == g) return;
  }
  for (int candidate : candidates) {
    if (!groups->can_merge(candidate, g)) continue;
    groups->merge(candidate, g);
    return;
  }
  candidates.push_back(g);
}

}  // namespace

void merge_siblings(const Graph& graph, const Uses& uses, const std::vector<bool>& stored,
                    GroupGraph* groups) {
  std::vector<GroupNumbers> readers_of(graph.nodes.size());  // by value in memory
  const auto size = static_cast<NodeId>(graph.nodes.size());
  for (NodeId n = 0; n < size; ++n) {
    if (!uses.computes(n)) continue;
    for (const GraphOperand& operand : graph.nodes[n].operands) {
      if (operand.is_scalar()) continue;
      const NodeId value = uses.viewed(operand.node);
      const GraphNode& read = graph.nodes[value];
      if (read.op != Op::kInput && !stored[value]) continue;
      for (int g : groups->groups_of(n)) {
        g = groups->find(g);
        const Group& group = groups->at(g);
        if (group.library || group.space.numel() != read.shape.numel()) continue;
        merge_into_one_of(groups, readers_of[value], g);
      }
    }
  }
}

}  // namespace sluice::fusion
