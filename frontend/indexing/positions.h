// Where a mask is true; the frontend's own.
#ifndef SLUICE_FRONTEND_INDEXING_POSITIONS_H_
#define SLUICE_FRONTEND_INDEXING_POSITIONS_H_

#include <vector>

#include <sluice/tensor.h>

namespace sluice::frontend {

// int64 (count,): the positions of the true elements of `mask`, a bool tensor of one axis, in
// increasing order. Waits for their count.
Tensor true_positions(const char* op, const Tensor& mask);

// Of positions in a tensor of this shape, row-major: where they are along each axis.
std::vector<Tensor> unravelled(const Tensor& positions, const Shape& shape);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_INDEXING_POSITIONS_H_
