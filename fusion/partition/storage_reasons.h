// Why a value goes through memory instead of staying in a kernel.
#ifndef SLUICE_FUSION_PARTITION_STORAGE_REASONS_H_
#define SLUICE_FUSION_PARTITION_STORAGE_REASONS_H_

#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "fusion/graph/uses.h"
#include "fusion/partition/group_graph.h"
#include "fusion/partition/positions.h"
#include "fusion/partition/row_facts.h"

namespace sluice::fusion {

class StorageReasons {
 public:
  // Refers to all arguments, which must outlive it.
  StorageReasons(const Graph& graph, const Constraints& constraints, const Uses& uses,
                 const RowFacts& row_facts, const GroupGraph& groups, const Positions& positions);

  // Why `n` has to be in memory whichever groups could compute it; nullopt if it does not.
  std::optional<CutReason> required(NodeId n) const;

  // Why storing `n` is better than computing it in each of `readers`; nullopt if it is not. To be
  // asked once for a node that nothing requires to be stored, after all its users.
  std::optional<CutReason> preferred(NodeId n, absl::Span<const int> readers);

  // `n` is stored: its readers compute it no more.
  void note_stored(NodeId n) { recomputations_[n] = 1; }

 private:
  const GraphNode& node(NodeId n) const { return graph_.nodes[n]; }
  void count_recomputations(NodeId n);
  bool is_computed_often(NodeId n, absl::Span<const int> readers) const;
  bool is_cheap(NodeId n) const;
  bool add_reads(NodeId n, int64_t elements, int* ops, absl::InlinedVector<NodeId, 2>* reads) const;
  bool is_repeated(NodeId n, int g) const;

  const Graph& graph_;
  const Constraints& constraints_;
  const Uses& uses_;
  const RowFacts& row_facts_;
  const GroupGraph& groups_;
  const Positions& positions_;
  // By node: at how many different indices each point of a group computes it, at most.
  std::vector<int> recomputations_;
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PARTITION_STORAGE_REASONS_H_
