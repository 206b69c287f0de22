// The order in which a reduction combines its elements. It is fixed by the logical shape alone, so
// that every tier, thread count and memory layout gives the same bits.
//
// A row of R elements, in row-major order of the reduced dims, is cut into blocks. In a block:
//   Schedule::kRow     element r of the block goes to lane r % kLanes; each lane combines its
//                      elements in order, starting from the identity; then lanes are folded by
//                      halving: lane l takes lane l + h for h = kLanes/2, kLanes/4, ..., 1.
//   Schedule::kColumn  elements are combined in order, starting from the identity.
// The blocks' results are then combined in order: ((b0 . b1) . b2) ...
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
inline constexpr int64_t kRowBlock = 8192;     // elements, a multiple of kLanes
inline constexpr int64_t kColumnBlock = 1024;  // elements along the reduced dims

static_assert(fusion::kOneBlock <= kRowBlock && fusion::kOneBlock <= kColumnBlock);

constexpr int64_t block_size(fusion::Schedule schedule) {
  return schedule == fusion::Schedule::kRow ? kRowBlock : kColumnBlock;
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
