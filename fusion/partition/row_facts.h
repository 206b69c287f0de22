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
#include "fusion/partition/partition.h"

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

// True if `group` scans rows that are long and few. A row that is scanned stays with one thread, so
// what is_shared() is better computed by another kernel, which threads share.
bool scans_long_rows(const Graph& graph, const Group& group);
bool is_shared(Op op);

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
  // is observed, so that a kernel which reduces those rows has the operands of `n` at hand, and the
  // rows are none that the kernel which reduces `axes` can unroll.
  bool made_from_other_rows(NodeId n, const Shape& space, const std::vector<int>& axes) const;

 private:
  // By node: a set of numbers of rows, one bit each.
  class Sets {
   public:
    void resize(size_t nodes, size_t rows) {
      words_ = (rows + 63) / 64;
      bits_.assign(nodes * words_, 0);
    }
    void insert(NodeId n, int row) { bits_[n * words_ + row / 64] |= uint64_t{1} << (row % 64); }
    // Adds the rows of `from` to those of `into`.
    void unite(NodeId into, NodeId from) {
      for (size_t w = 0; w < words_; ++w) bits_[into * words_ + w] |= bits_[from * words_ + w];
    }
    absl::Span<const uint64_t> of(NodeId n) const { return {bits_.data() + n * words_, words_}; }

   private:
    size_t words_ = 0;
    std::vector<uint64_t> bits_;
  };

  // By node: the number of the rows that a reduction walks; -1 for others, and if they don't fit.
  std::vector<int> number_rows(const Graph& graph, const Uses& uses);

  const bool unrolls_rows_;
  std::vector<Rows> rows_;  // by number
  Sets made_from_;
  Sets fused_from_;  // likewise, but only by way of values that nobody observes
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PARTITION_ROW_FACTS_H_
