// How the functions of linalg record library calls; the frontend's own.
#ifndef SLUICE_FRONTEND_LINALG_FACTOR_H_
#define SLUICE_FRONTEND_LINALG_FACTOR_H_

#include <cstdint>
#include <optional>
#include <vector>

#include <sluice/tensor.h>
#include "frontend/dims.h"
#include "fusion/ir/op.h"

namespace sluice::frontend {

// Throws unless x has at least two axes, and the last two are of one extent.
void check_square(const char* op, const Tensor& x);
// x, of at least two axes, in the dtype that it is taken apart in. Throws if it has fewer.
Tensor as_matrices(const char* op, const Tensor& x);
// Likewise of square ones.
Tensor as_square_matrices(const char* op, const Tensor& x);

// The axes before the last two.
Dims batch_of(const Tensor& x);
Dims with_dims(Dims lead, std::initializer_list<int64_t> last);

// A part of what an op gives of each matrix: its extents, and whether it is, of matrices without
// elements, the identity (else 0).
struct FactorPart {
  Shape dims;
  double of_none = 0;
};

// What fusion::Op `op` (fusion/library/factor.h) gives of x, and y for solve, in `mode`: a tensor
// for each part, (batch.., dims..). x and y are of one batch and dtype.
std::vector<Tensor> factor(const char* name, fusion::Op op, int64_t mode, const Tensor& x,
                           const std::vector<FactorPart>& parts,
                           const std::optional<Tensor>& y = std::nullopt);

// Functions of matrices that they are computed with, before results are rounded to x's dtype.
Tensor inverse_of(const char* name, const Tensor& x, bool or_nan = false);
Tensor solution_of(const char* name, const Tensor& a, const Tensor& b);
struct Singular {
  Tensor u, s, vh;  // thin
};
Singular singular_of(const char* name, const Tensor& x);
Tensor singular_values_of(const char* name, const Tensor& x);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_LINALG_FACTOR_H_
