// The order in which a scan (fusion/ir/scan.h) combines its elements. As that of a reduction
// (kernels/reduction.h) it is fixed by the logical shape alone.
//
// A row is cut into leaves of fusion::leaf_size() elements. Element i is
//   before . upto
// where `before` is what all earlier leaves combine to and `upto` what the leaf does, up to i.
//
// before: leaves are combined in pairs, as those of a reduction. What comes before leaf n is made
// of the subtrees of the set bits of n, which are combined in order, the largest first. It is the
// identity for the first leaf.
//
// upto:
//   Schedule::kRow     a leaf's elements are taken kLanes at a time. In such a vector, for d = 1,
//   2,
//                      .. kLanes/2, each lane with bit d set takes the last lane l of the d lanes
//                      before its own group of d: lane = l . lane. Element i is then
//                        (before . vectors) . lane
//                      where `vectors` are the leaf's earlier vectors, combined in order, each by
//                      its last lane, starting from the identity.
//   Schedule::kColumn  elements are combined in order, starting from the identity.
//
// So an element of a sum passes at most 5 + 16 additions in its leaf of a row, or 15 in that of a
// column, twice log2 of the leaves' number, and the one or two that combine these (docs/math.md).
//
// A scan accumulates in fusion::expression_dtype(); each element is rounded once.
#ifndef SLUICE_KERNELS_SCAN_H_
#define SLUICE_KERNELS_SCAN_H_

#include <bit>
#include <cstdint>

#include "kernels/reduction.h"

namespace sluice::kernels {

// Where the subtree that ends with leaf `n` belongs: of 2^level leaves.
constexpr int level_of_leaf(uint64_t n) { return std::countr_one(n); }

// The level of the next larger subtree before it, or kTreeLevels if there is none.
constexpr int level_before(uint64_t n) {
  const int level = level_of_leaf(n);
  const uint64_t larger = (n + 1) >> level >> 1 << level << 1;
  return larger == 0 ? kTreeLevels : std::countr_zero(larger);
}

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_SCAN_H_
