// The graph of a window: what is to be computed, before any decision about kernels.
#ifndef SLUICE_FUSION_GRAPH_GRAPH_H_
#define SLUICE_FUSION_GRAPH_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "fusion/graph/index_map.h"
#include "fusion/ir/op.h"
#include "runtime/layout.h"

namespace sluice::fusion {

using NodeId = int32_t;
inline constexpr NodeId kNoNode = -1;

// One operand of a node: another node, or a scalar argument of the window.
struct GraphOperand {
  NodeId node = kNoNode;
  int32_t scalar = -1;  // its number, if node == kNoNode

  bool is_scalar() const { return node == kNoNode; }
  bool operator==(const GraphOperand&) const = default;
};

// Operands of pointwise nodes broadcast to `shape` as in NumPy and are cast to what the op's type
// rule asks for, given `operand_dtype`: broadcasts and casts are properties of an edge, not nodes.
struct GraphNode {
  Op op = Op::kInput;
  DType dtype = DType::kFloat32;
  DType operand_dtype = DType::kFloat32;  // in which the op computes (kSame, kPredicate, kSelect)
  bool live = false;                      // observed: it must be in memory afterwards
  Shape shape;
  Strides strides{};  // kInput only; its offset is in the base address
  // kInput only: the block of memory it lies in, for counting bytes. Not part of a plan's key: a
  // plan made for one aliasing is right for all of them, though its counts may be off.
  struct Block {
    int32_t number = -1;    // -1: the input has the block to itself
    int64_t offset = 0;     // of the base address, in elements
    int64_t elements = -1;  // of the block; -1: as many as the input has
  } block;
  absl::InlinedVector<GraphOperand, 3> operands;
  absl::InlinedVector<int64_t, 4> attrs;
};

// Nodes in topological order: operands come before their users. Inputs are numbered in the order of
// their nodes.
struct Graph {
  std::vector<GraphNode> nodes;
  int32_t num_scalars = 0;
};

// The view that `node`, whose op is a view, is of its operand. Refers to `node`.
inline View view_of(const GraphNode& node) { return {node.op, node.attrs, node.shape}; }

std::string to_text(const Graph& graph);

// The dtype in which operand `index` of `node` enters its op.
DType expected_operand_dtype(const GraphNode& node, int index);

// ---- Passes over a graph. Each returns the number of nodes it replaced; replacement[n] is the
// node that the users of n use afterwards. Nodes that nothing live needs any more may remain: see
// needed_nodes().

// Replaces a node by an equal earlier one: same op, operands, attributes and types. Nodes with
// scalar operands are equal only if they name the same scalar.
int eliminate_common_subexpressions(Graph& graph, std::vector<NodeId>* replacement);

// Replaces a node that equals its operand bit for bit by the operand: a cast to the same dtype, a
// reshape or broadcast to the same shape, an identity permutation, a slice of the whole.
int remove_identities(Graph& graph, std::vector<NodeId>* replacement);

// needed[n]: n is live or a needed node uses it.
std::vector<bool> needed_nodes(const Graph& graph);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_GRAPH_GRAPH_H_
