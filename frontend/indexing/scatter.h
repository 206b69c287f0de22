// Rows put into a tensor, or combined with it, at computed positions; the frontend's own.
#ifndef SLUICE_FRONTEND_INDEXING_SCATTER_H_
#define SLUICE_FRONTEND_INDEXING_SCATTER_H_

#include <sluice/tensor.h>
#include "fusion/ir/op.h"

namespace sluice::frontend {

// What a call does to the elements at its positions: replaces them, adds to them, or leaves them
// the greater or the lesser one. `op`: what the user called.
struct Assignment {
  const char* op;
  fusion::Op how = fusion::Op::kScatterSet;  // or kScatterAdd, kScatterMax, kScatterMin

  bool adds() const { return how == fusion::Op::kScatterAdd; }
};

// x (rows, columns) where row positions[i] has been combined with row i of `updates` (count,
// columns), which is converted to x's dtype, for i = 0, 1, ... `positions` (count,): int64, in [0,
// rows). Sums of half types are rounded once.
Tensor scattered(const Assignment& how, const Tensor& x, const Tensor& positions,
                 const Tensor& updates);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_INDEXING_SCATTER_H_
