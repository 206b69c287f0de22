// Reductions as the frontend's own ops use them.
#ifndef SLUICE_FRONTEND_REDUCE_H_
#define SLUICE_FRONTEND_REDUCE_H_

#include <vector>

#include <sluice/tensor.h>
#include "fusion/ir/op.h"

namespace sluice::frontend {

// `x` cast to `dtype` and reduced over `axes` (from the front, increasing). `name` is for messages.
Tensor reduce(const char* name, fusion::Op op, const Tensor& x, std::vector<int> axes,
              bool keepdims, DType dtype);

// The sum over `axes` by the number of its terms, in x's dtype.
Tensor mean_of(const char* name, const Tensor& x, const std::vector<int>& axes, bool keepdims);

// The number of elements that each result is made of.
int64_t count_reduced(const Tensor& x, const std::vector<int>& axes);

// The dtype of sums and products of `dtype`: integers accumulate in 64 bits.
DType sum_dtype(DType dtype);

// The dtype that statistics of `dtype` are computed in, before they are rounded to float_type().
inline DType statistic_dtype(DType dtype) { return compute_type(float_type(dtype)); }

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_REDUCE_H_
