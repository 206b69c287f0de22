// Sums of products over axes that two tensors share; the frontend's own.
#ifndef SLUICE_FRONTEND_COMPOSED_CONTRACT_H_
#define SLUICE_FRONTEND_COMPOSED_CONTRACT_H_

#include <vector>

#include <sluice/tensor.h>

namespace sluice::frontend {

// Axes of a and of b, in pairs of equal extents: products are made for each index of the batch, and
// summed over the others.
struct Contraction {
  std::vector<int> batch_a = {}, batch_b = {};
  std::vector<int> summed_a, summed_b;
};

// By one matmul(), or as a fused product where one of an index is all that there is of both. Axes
// of the result: the batch, the rest of a, the rest of b. The dtype is promote()'s; as of matmul(),
// half types accumulate in float32, integers wrap and bool is an error.
Tensor contracted(const char* op, const Tensor& a, const Tensor& b, const Contraction& axes);

// sum(a * b) over the last axis, as one kernel: of tensors that broadcast.
Tensor sum_of_products(const char* op, const Tensor& a, const Tensor& b);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_COMPOSED_CONTRACT_H_
