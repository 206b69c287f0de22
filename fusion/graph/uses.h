// Who reads what in a graph, with views seen through.
#ifndef SLUICE_FUSION_GRAPH_USES_H_
#define SLUICE_FUSION_GRAPH_USES_H_

#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "fusion/partition/partition.h"

namespace sluice::fusion {

// Operand `operand` of node `consumer` reads a value.
struct Use {
  NodeId consumer;
  int operand;
};

class Uses {
 public:
  // Of the nodes that something live needs. Both must outlive this.
  Uses(const Graph& graph, const Constraints& constraints);

  // True if `n` is needed and is neither an input nor a view of something else.
  bool computes(NodeId n) const { return computes_[n]; }
  // True if someone holds `n`, or a view of it.
  bool observed(NodeId n) const { return observed_[n]; }
  absl::Span<const Use> of(NodeId n) const { return uses_[n]; }

  // The node that `n` is a view of, through any number of views that are not copied.
  NodeId viewed(NodeId n) const { return viewed_node(graph_, constraints_, n); }

  // True if the consumer reads elements at computed indices of a value that need not be in memory:
  // each is then computed at its index.
  bool computed_at_index(const Use& use) const {
    return use.operand == 0 && gathers_computed_[use.consumer];
  }
  // Why a use needs the value to be in memory, if it does.
  std::optional<CutReason> memory_reason(const Use& use) const;
  // Why `n` has to be in memory whoever could compute it, if it has to.
  std::optional<CutReason> reason_to_store(NodeId n) const;

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
