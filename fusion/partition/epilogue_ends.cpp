#include "fusion/partition/epilogue_ends.h"

#include <algorithm>

#include "fusion/ir/epilogue_ops.h"

namespace sluice::fusion {
namespace {

class Chain {
 public:
  Chain(const Graph& graph, const Constraints& constraints, const Uses& uses)
      : graph_(graph), constraints_(constraints), uses_(uses) {}

  // True if at most `links` epilogues make `n` of a product.
  bool ends_at(NodeId n, size_t links) const {
    const GraphNode& node = graph_.nodes[n];
    if (links == 0 || node.dtype != DType::kFloat32 || node.operand_dtype != DType::kFloat32) {
      return false;
    }
    const auto bytes = node.shape.numel() * static_cast<int64_t>(sizeof(float));
    if (!folds(constraints_.epilogues, node.op, bytes)) return false;
    if (is_activation(node.op)) return continues_at(node, 0, links);
    if (!is_epilogue_of_two(node.op)) return false;
    if (node.op != Op::kReluGradient && is_in_memory(node, 1) && continues_at(node, 0, links)) {
      return true;
    }
    return is_in_memory(node, 0) && continues_at(node, 1, links);
  }

  // The operand by which a product is multiplied to make `n`, if it is a factor; else kNoNode.
  NodeId factor_of(NodeId n) const {
    const GraphNode& node = graph_.nodes[n];
    if (node.op != Op::kMul || node.dtype != DType::kFloat32) return kNoNode;
    for (int k = 0; k < 2; ++k) {
      if (node.operands[1 - k].is_scalar() || !continues_at(node, k, kMaxEpilogues)) continue;
      const NodeId value = uses_.viewed(node.operands[1 - k].node);
      if (uses_.of(value).size() == 1 && !uses_.observed(value) &&
          is_made_of_memory(value, node.shape.numel(), kMaxFactorDepth)) {
        return value;
      }
    }
    return kNoNode;
  }

 private:
  static constexpr int kMaxFactorDepth = 8;

  // True if a pointwise op makes `value` of `elements` elements of another value, which may be in
  // memory.
  bool is_made_of_memory(NodeId value, int64_t elements, int depth) const {
    const GraphNode& node = graph_.nodes[value];
    if (!is_pointwise(node.op) || node.dtype != DType::kFloat32 || depth == 0) return false;
    if (node.shape.numel() != elements) return false;
    return std::any_of(
        node.operands.begin(), node.operands.end(), [&](const GraphOperand& operand) {
          if (operand.is_scalar()) return false;
          const NodeId read = uses_.viewed(operand.node);
          const GraphNode& source = graph_.nodes[read];
          if (is_pointwise(source.op)) return is_made_of_memory(read, elements, depth - 1);
          return source.dtype == DType::kFloat32 && source.shape.numel() == elements &&
                 (source.op == Op::kInput || class_of(source.op) == OpClass::kLibrary);
        });
  }

  // True if operand k is the product, or made of it by one epilogue less.
  bool continues_at(const GraphNode& node, int k, size_t links) const {
    if (node.operands[k].is_scalar()) return false;
    const NodeId value = uses_.viewed(node.operands[k].node);
    const GraphNode& before = graph_.nodes[value];
    if (uses_.observed(value) || uses_.of(value).size() != 1) return false;
    if (before.dtype != DType::kFloat32 || before.shape.numel() != node.shape.numel()) return false;
    return before.op == Op::kMatmul || ends_at(value, links - 1);
  }

  bool is_in_memory(const GraphNode& node, int k) const {
    if (node.operands[k].is_scalar()) return false;
    const NodeId value = uses_.viewed(node.operands[k].node);
    const GraphNode& operand = graph_.nodes[value];
    if (operand.dtype != DType::kFloat32) return false;
    const auto uses = uses_.of(value);
    return operand.op == Op::kInput || operand.op == Op::kMatmul || uses_.observed(value) ||
           constraints_.is_factor[value] ||
           std::any_of(uses.begin(), uses.end(),
                       [&](const Use& use) { return uses_.needs_memory(use); });
  }

  const Graph& graph_;
  const Constraints& constraints_;
  const Uses& uses_;
};

}  // namespace

bool ends_epilogues(const Graph& graph, const Constraints& constraints, const Uses& uses,
                    NodeId n) {
  return Chain(graph, constraints, uses).ends_at(n, kMaxEpilogues);
}

std::vector<NodeId> find_factors(const Graph& graph, const Constraints& constraints) {
  const Uses uses(graph, constraints);
  const Chain chain(graph, constraints, uses);
  std::vector<NodeId> factors;
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    if (!uses.computes(n)) continue;
    if (const NodeId factor = chain.factor_of(n); factor != kNoNode) factors.push_back(factor);
  }
  return factors;
}

}  // namespace sluice::fusion
