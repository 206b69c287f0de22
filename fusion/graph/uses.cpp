#include "fusion/graph/uses.h"

namespace sluice::fusion {
namespace {

// True if an element of `n` at any index along `axis` can be computed by at most kMaxDepth ops in a
// row from elements in memory and from values that have one element along the axis. The bound is on
// the work that is done again for each element read.
bool computable_at_index(const Graph& graph, const Constraints& constraints, NodeId n, int axis,
                         int depth = 0) {
  constexpr int kMaxDepth = 6;
  const GraphNode& node = graph.nodes[n];
  if (axis < 0 || node.shape[axis] == 1) return true;
  if (node.op == Op::kInput || class_of(node.op) == OpClass::kLibrary) return true;
  if (class_of(node.op) == OpClass::kSource) return true;
  if (!is_pointwise(node.op) || constraints.in_memory[n] || depth == kMaxDepth) return false;
  for (const GraphOperand& operand : node.operands) {
    if (operand.is_scalar()) continue;
    const int shift = node.shape.rank() - graph.nodes[operand.node].shape.rank();
    if (!computable_at_index(graph, constraints, operand.node, axis - shift, depth + 1)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Uses::Uses(const Graph& graph, const Constraints& constraints)
    : graph_(graph), constraints_(constraints) {
  const auto size = static_cast<NodeId>(graph.nodes.size());
  const std::vector<bool> needed = needed_nodes(graph);
  computes_.resize(size, false);
  observed_.resize(size, false);
  gathers_computed_.resize(size, false);
  uses_.resize(size);
  for (NodeId n = 0; n < size; ++n) {
    const GraphNode& node = graph.nodes[n];
    if (!needed[n] || node.op == Op::kInput) continue;
    if (node.live) observed_[viewed(n)] = true;
    if (viewed(n) != n) continue;
    computes_[n] = true;
    if (class_of(node.op) == OpClass::kGather) {
      const NodeId id = node.operands[0].node;
      const GraphNode& source = graph.nodes[id];
      const bool is_index = source.op == Op::kCoordinate && source.attrs[0] == node.attrs[0];
      gathers_computed_[n] =
          is_index ||
          (is_pointwise(source.op) && node.shape.numel() <= source.shape.numel() &&
           computable_at_index(graph, constraints, id, static_cast<int>(node.attrs[0])));
    }
    for (int k = 0; k < static_cast<int>(node.operands.size()); ++k) {
      const GraphOperand& operand = node.operands[k];
      if (!operand.is_scalar()) uses_[viewed(operand.node)].push_back({n, k});
    }
  }
}

bool Uses::needs_memory(const Use& use) const {
  const Op op = graph_.nodes[use.consumer].op;
  if (is_library_call(constraints_, op)) return true;
  return class_of(op) == OpClass::kGather && use.operand == 0 && !computed_at_index(use);
}

}  // namespace sluice::fusion
