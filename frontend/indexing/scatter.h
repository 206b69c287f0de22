// Rows put into a tensor, or added to it, at computed positions; the frontend's own.
#ifndef SLUICE_FRONTEND_INDEXING_SCATTER_H_
#define SLUICE_FRONTEND_INDEXING_SCATTER_H_

#include <sluice/tensor.h>

namespace sluice::frontend {

// What a call does to the elements at its positions: replaces them, or adds to them. `op`: what the
// user called.
struct Assignment {
  const char* op;
  bool adds;
};

// x (rows, columns) where row positions[i] is, or has been added, row i of `updates` (count,
// columns), which is converted to x's dtype, for i = 0, 1, ... `positions` (count,): int64, in [0,
// rows). Sums of half types are rounded once.
Tensor scattered(const Assignment& how, const Tensor& x, const Tensor& positions,
                 const Tensor& updates);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_INDEXING_SCATTER_H_
