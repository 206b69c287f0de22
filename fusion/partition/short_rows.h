// Rows of a few elements, which kernels compute as expressions of their elements.
#ifndef SLUICE_FUSION_PARTITION_SHORT_ROWS_H_
#define SLUICE_FUSION_PARTITION_SHORT_ROWS_H_

#include <vector>

#include "fusion/graph/constraints.h"
#include "fusion/graph/graph.h"
#include "fusion/partition/partition.h"
#include "fusion/partition/row_facts.h"

namespace sluice::fusion {

// True if the rows of `space` along `axes` are short, and many enough to be worth a kernel that
// serves rows of this length alone.
bool is_short_row(const Shape& space, const std::vector<int>& axes);

// True if a kernel over `rows.space` that reduces `axes` can unroll `rows`, which are others: what
// is left of the space gives its lanes enough to do.
bool can_unroll(const Rows& rows, const std::vector<int>& axes);

// Makes the reduced axes of `group` unrolled ones if its rows are short and the kernel stays small.
void unroll_short_rows(const Graph& graph, const Constraints& constraints, Group* group);

// Of a pointwise group that joins a few columns by a concat along the last axis, as `stack` of the
// components of vectors does: that axis, if the kernel stays small when it is unrolled. Then each
// point computes all columns, none under a condition. Empty if there is none.
std::vector<int> axis_of_columns(const Graph& graph, const Partition& partition,
                                 const Group& group);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PARTITION_SHORT_ROWS_H_
