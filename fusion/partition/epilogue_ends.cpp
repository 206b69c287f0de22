#include "fusion/partition/epilogue_ends.h"

#include <algorithm>

#include "fusion/ir/epilogue_ops.h"

namespace sluice::fusion {
namespace {

class Chain {
 public:
  Chain(const Graph& graph, EpilogueUse use, const Uses& uses)
      : graph_(graph), use_(use), uses_(uses) {}

  // True if at most `links` epilogues make `n` of a product.
  bool ends_at(NodeId n, size_t links) const {
    const GraphNode& node = graph_.nodes[n];
    if (links == 0 || node.dtype != DType::kFloat32 || node.operand_dtype != DType::kFloat32) {
      return false;
    }
    const auto bytes = node.shape.numel() * static_cast<int64_t>(sizeof(float));
    if (!folds(use_, node.op, bytes)) return false;
    if (is_activation(node.op)) return continues_at(node, 0, links);
    if (!is_epilogue_of_two(node.op)) return false;
    if (node.op == Op::kAdd && is_in_memory(node, 1) && continues_at(node, 0, links)) return true;
    return is_in_memory(node, 0) && continues_at(node, 1, links);
  }

 private:
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
           std::any_of(uses.begin(), uses.end(),
                       [&](const Use& use) { return uses_.needs_memory(use); });
  }

  const Graph& graph_;
  const EpilogueUse use_;
  const Uses& uses_;
};

}  // namespace

bool ends_epilogues(const Graph& graph, const Constraints& constraints, const Uses& uses,
                    NodeId n) {
  return Chain(graph, constraints.epilogues, uses).ends_at(n, kMaxEpilogues);
}

}  // namespace sluice::fusion
