#include "fusion/graph/graph.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fusion/ir/numbering.h"

namespace sluice::fusion {
namespace {

bool is_identity(const GraphNode& node, const GraphNode& operand) {
  if (node.dtype != operand.dtype || node.shape != operand.shape) return false;
  switch (node.op) {
    case Op::kCast:
    case Op::kReshape:
    case Op::kBroadcast: return true;
    case Op::kPermute:
      for (int i = 0; i < static_cast<int>(node.attrs.size()); ++i) {
        if (node.attrs[i] != i) return false;
      }
      return true;
    case Op::kSlice:
      for (size_t i = 0; i < node.attrs.size(); i += 2) {
        if (node.attrs[i] != 0 || node.attrs[i + 1] != 1) return false;
      }
      return true;
    default: return false;
  }
}

// Of what nodes compute: two are equal if their values are.
uint32_t hash_of(const GraphNode& node) {
  WordHash hash;
  hash.add(static_cast<uint64_t>(node.op) << 16 | static_cast<uint64_t>(node.dtype) << 8 |
           static_cast<uint64_t>(node.operand_dtype));
  for (const GraphOperand& operand : node.operands) {
    hash.add(operand.is_scalar() ? ~static_cast<uint64_t>(operand.scalar) : operand.node);
  }
  for (const int64_t attr : node.attrs) hash.add(attr);
  return hash.value();
}
bool are_equal(const GraphNode& a, const GraphNode& b) {
  return a.op == b.op && a.dtype == b.dtype && a.operand_dtype == b.operand_dtype &&
         a.shape == b.shape && a.operands == b.operands && a.attrs == b.attrs;
}

// Sets (*replacement)[n] = choose(n, node) for every node, in order, and makes later nodes use the
// replacements as operands. Returns the number of nodes that are not their own replacement.
template <typename Choose>
int replace_nodes(Graph& graph, std::vector<NodeId>* replacement, Choose choose) {
  const NodeId count = static_cast<NodeId>(graph.nodes.size());
  replacement->resize(count);
  int changed = 0;
  for (NodeId n = 0; n < count; ++n) {
    GraphNode& node = graph.nodes[n];
    for (GraphOperand& operand : node.operands) {
      if (!operand.is_scalar()) operand.node = (*replacement)[operand.node];
    }
    (*replacement)[n] = choose(n, node);
    changed += (*replacement)[n] != n;
  }
  return changed;
}

}  // namespace

DType expected_operand_dtype(const GraphNode& node, int index) {
  const OpInfo& info = op_info(node.op);
  const bool takes_positions = node.op == Op::kTakeAlongAxis || node.op == Op::kScatterSet ||
                               node.op == Op::kScatterAdd || node.op == Op::kScatterMax ||
                               node.op == Op::kScatterMin || node.op == Op::kNonzero;
  if (takes_positions && index == 1) return DType::kInt64;
  if (node.op == Op::kExternal) return static_cast<DType>(node.attrs[1 + index]);
  if (!is_pointwise(node.op)) return node.operand_dtype;
  switch (info.rule) {
    case TypeRule::kLogical: return DType::kBool;
    case TypeRule::kSelect: return index == 0 ? DType::kBool : node.operand_dtype;
    case TypeRule::kFixed: return info.operand_dtype;
    default: return node.operand_dtype;
  }
}

int eliminate_common_subexpressions(Graph& graph, std::vector<NodeId>* replacement) {
  Numbering numbers;
  std::vector<NodeId> numbered;
  return replace_nodes(graph, replacement, [&](NodeId n, const GraphNode& node) {
    if (node.op == Op::kInput) return n;
    const auto [number, is_new] = numbers.find_or_add(hash_of(node), [&](uint32_t known) {
      return are_equal(graph.nodes[numbered[known]], node);
    });
    if (is_new) numbered.push_back(n);
    return numbered[number];
  });
}

int remove_identities(Graph& graph, std::vector<NodeId>* replacement) {
  return replace_nodes(graph, replacement, [&](NodeId n, const GraphNode& node) {
    if (node.operands.size() != 1 || node.operands[0].is_scalar()) return n;
    NodeId operand = node.operands[0].node;
    if (is_identity(node, graph.nodes[operand])) return operand;
    // There and back.
    while (node.op == Op::kReshape && graph.nodes[operand].op == Op::kReshape) {
      operand = graph.nodes[operand].operands[0].node;
      if (is_identity(node, graph.nodes[operand])) return operand;
    }
    return n;
  });
}

std::vector<bool> needed_nodes(const Graph& graph) {
  std::vector<bool> needed(graph.nodes.size(), false);
  for (NodeId n = static_cast<NodeId>(graph.nodes.size()) - 1; n >= 0; --n) {
    const GraphNode& node = graph.nodes[n];
    if (node.live) needed[n] = true;
    if (!needed[n]) continue;
    for (const GraphOperand& operand : node.operands) {
      if (!operand.is_scalar()) needed[operand.node] = true;
    }
  }
  return needed;
}

std::string to_text(const Graph& graph) {
  std::string text;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    absl::StrAppend(&text, "  t", n, " = ", name_of(node.op));
    for (const GraphOperand& operand : node.operands) {
      operand.is_scalar() ? absl::StrAppend(&text, " s", operand.scalar)
                          : absl::StrAppend(&text, " t", operand.node);
    }
    if (!node.attrs.empty()) {
      absl::StrAppend(&text, " [", absl::StrJoin(node.attrs, ","), "]");
    }
    absl::StrAppend(&text, " : ", sluice::name_of(node.dtype), to_string(node.shape),
                    node.live ? " live" : "", "\n");
  }
  return text;
}

}  // namespace sluice::fusion
