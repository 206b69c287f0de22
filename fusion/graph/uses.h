// Who reads what in a graph, with views seen through.
#ifndef SLUICE_FUSION_GRAPH_USES_H_
#define SLUICE_FUSION_GRAPH_USES_H_

#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "fusion/graph/constraints.h"

namespace sluice::fusion {

// True for what can be computed at one index of an axis, if its operands can be read there.
inline bool is_computed_at_index(Op op) { return is_pointwise(op) || op == Op::kCoordinate; }

// Operand `operand` of node `consumer` reads a value.
struct Use {
  NodeId consumer;
  int operand;
};

// The uses in the part of a graph that something live needs.
class Uses {
 public:
  // Refers to both arguments, which must outlive it.
  Uses(const Graph& graph, const Constraints& constraints);

  // True if `n` is needed and is neither an input nor a view that is not copied.
  bool computes(NodeId n) const { return computes_[n]; }
  // Whether rows of a few elements may be unrolled.
  bool unrolls_rows() const { return constraints_.unrolls_rows; }
  // True if someone holds `n` or a view of it.
  bool observed(NodeId n) const { return observed_[n]; }
  // The uses of `n` itself and of views of it, in the order of their consumers.
  absl::Span<const Use> of(NodeId n) const { return uses_[n]; }

  // The node that `n` is a view of, through any number of views that are not copied.
  NodeId viewed(NodeId n) const { return viewed_node(graph_, constraints_, n); }

  // True if the consumer reads elements at computed indices and the value need not be in memory:
  // it is cheap enough to compute each element at its index.
  bool computed_at_index(const Use& use) const {
    return use.operand == 0 && gathers_computed_[use.consumer];
  }
  // True if the consumer can only read the value from memory.
  bool needs_memory(const Use& use) const;

 private:
  const Graph& graph_;
  const Constraints& constraints_;
  std::vector<bool> computes_;
  std::vector<bool> observed_;
  std::vector<bool> gathers_computed_;  // by gather: its source can be computed at an index
  std::vector<absl::InlinedVector<Use, 2>> uses_;
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_GRAPH_USES_H_
