// The order in which a reduction combines its elements. It is fixed by the logical shape alone, so
// that every tier, thread count and memory layout gives the same bits.
//
// A row of R elements, in row-major order of the reduced dims, is cut into leaves of
// fusion::leaf_size() elements. In a leaf:
//   Schedule::kRow     element r goes to lane r % kLanes; each lane combines its elements in order,
//                      starting from the identity; then lanes are folded by halving: lane l takes
//                      lane l + h for h = kLanes/2, kLanes/4, ..., 1.
//   Schedule::kColumn  elements are combined in order, starting from the identity.
// The leaves' results are combined in pairs, by a binary tree: of n > 1 of them the greatest power
// of two below n comes first,
//   tree(n) = tree(first 2^k) . tree(the other n - 2^k),    2^k < n <= 2^(k + 1).
// Whoever takes leaves one by one keeps a result for each set bit of their number, as a binary
// counter does: leaf i is combined with as many of them as i ends in ones.
//
// So an element of a float sum passes at most 15 additions in its lane, 5 that fold and
// ceil(log2(R / 512)) in the tree (rows), or 15 and ceil(log2(R / 16)) (columns): the error stays
// below 2 log2(R) ulp of the sum of magnitudes (docs/math.md).
//
// Blocks are subtrees of leaves that threads take, and no part of the order.
//
// Arg reductions carry (value, position). Of equal values the lesser position wins, so their order
// does not matter.
//
// A reduction accumulates in fusion::expression_dtype(); the result is rounded once.
#ifndef SLUICE_KERNELS_REDUCTION_H_
#define SLUICE_KERNELS_REDUCTION_H_

#include <cstdint>

#include "fusion/ir/program.h"

namespace sluice::kernels {

inline constexpr int64_t kLanes = 32;
static_assert(fusion::leaf_size(fusion::Schedule::kRow) % kLanes == 0);

// Results that wait for their partners are as many as a tree has levels, at most.
inline constexpr int kTreeLevels = 40;

// Elements of a block: a power of two of leaves.
constexpr int64_t block_size(fusion::Schedule schedule) {
  return fusion::leaf_size(schedule) * (schedule == fusion::Schedule::kRow ? 16 : 64);
}

constexpr int64_t num_blocks(fusion::Schedule schedule, int64_t reduced) {
  const int64_t block = block_size(schedule);
  return reduced <= block ? 1 : (reduced + block - 1) / block;
}

// A reduction of no elements gives its identity, except a float sum: its identity is -0 (-0 + x is
// x for every x), but a sum of nothing is +0.
constexpr bool is_zero_if_empty(fusion::Op op, DType dtype) {
  return op == fusion::Op::kSum && is_float(dtype);
}

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_REDUCTION_H_
