#include "sluice/fusion/uses.h"

namespace sluice::fusion {

Uses::Uses(const Graph& graph, const Constraints& constraints)
    : graph_(graph), constraints_(constraints) {
  const auto size = static_cast<NodeId>(graph.nodes.size());
  const std::vector<bool> needed = needed_nodes(graph);
  computes_.resize(size, false);
  observed_.resize(size, false);
  uses_.resize(size);
  for (NodeId n = 0; n < size; ++n) {
    const GraphNode& node = graph.nodes[n];
    if (!needed[n] || node.op == Op::kInput) continue;
    if (node.live) observed_[viewed(n)] = true;
    if (viewed(n) != n) continue;
    computes_[n] = true;
    for (int k = 0; k < static_cast<int>(node.operands.size()); ++k) {
      const GraphOperand& operand = node.operands[k];
      if (!operand.is_scalar()) uses_[viewed(operand.node)].push_back({n, k});
    }
  }
}

std::optional<CutReason> Uses::memory_reason(const Use& use) const {
  switch (class_of(graph_.nodes[use.consumer].op)) {
    case OpClass::kLibrary: return CutReason::kLibrary;
    case OpClass::kGather:
      return use.operand == 0 ? std::optional(CutReason::kGather) : std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<CutReason> Uses::reason_to_store(NodeId n) const {
  if (constraints_.in_memory[n]) return CutReason::kView;
  std::optional<CutReason> reason;
  if (observed_[n]) reason = CutReason::kObserved;
  for (const Use& use : uses_[n]) {
    if (const auto needed = memory_reason(use)) reason = needed;
  }
  return reason;
}

}  // namespace sluice::fusion
