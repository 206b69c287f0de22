// Which reductions' results each value is made from. Computed forward, once, before any node is
// placed: placement walks from users to operands and meets a reduction only after it has placed
// what is made from it.
#ifndef SLUICE_FUSION_PARTITION_ROW_FACTS_H_
#define SLUICE_FUSION_PARTITION_ROW_FACTS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "fusion/graph/projection.h"
#include "fusion/graph/uses.h"

namespace sluice::fusion {

// What a reduction walks: for each index along the other (outer) dims of `space`, a row of the
// elements along `axes`.
struct Rows {
  Shape space;
  std::vector<int> axes;
};

// What `reduction` walks: the shape and the axes of its operand.
Rows rows_of(const Graph& graph, NodeId reduction);

// The number of elements of a row.
int64_t row_length(const Shape& space, const std::vector<int>& axes);

// True if one kernel may reduce these rows and then use the results in the same rows: it makes
// several passes over a row on one thread, so rows have to be short or many.
bool rows_fit(const Shape& space, const std::vector<int>& axes);

// For each node, the rows of the reductions that it is made from: those it reads, and those that
// its pointwise operands are made from. Only rows that fit (rows_fit) are facts: a kernel never
// does more than reduce the others.
//
// Equal rows are one fact, a bit of the node's set. Building the sets takes one pass over the
// edges, and for each edge one step for every 64 different rows in the graph.
class RowFacts {
 public:
  // Of the nodes that `uses` says are computed.
  RowFacts(const Graph& graph, const Uses& uses);

  // The rows of `space` with outer dims `outer` that `n` is made from, or nullptr. A kernel over
  // `space` that reads `n` along the outer dims computes it once a row if it reduces these rows
  // itself. Of rows that differ in axes of extent 1 only, those of the last reduction.
  const Rows* rows_computing(NodeId n, const Shape& space, Projection outer) const;

  // True if `n` is made from rows of `space` along axes other than `axes` and no value in between
  // is observed, so that a kernel which reduces those rows has the operands of `n` at hand.
  bool made_from_other_rows(NodeId n, const Shape& space, const std::vector<int>& axes) const;

 private:
  // By node, `words_` words each: bit r stands for rows_[r].
  using Sets = std::vector<uint64_t>;

  void number_rows(const Graph& graph, const Uses& uses);
  void propagate(const Graph& graph, const Uses& uses);
  absl::Span<uint64_t> set_of(Sets& sets, NodeId n) const;

  std::vector<Rows> rows_;
  std::vector<int32_t> row_number_;  // by node: a reduction's rows, or -1
  size_t words_ = 0;
  Sets made_from_;
  Sets fused_from_;  // likewise, by way of values that nobody observes
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PARTITION_ROW_FACTS_H_
