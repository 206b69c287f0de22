// Products of matrices, divided between threads.
#ifndef SLUICE_KERNELS_LIBRARY_MULTIPLY_MULTIPLY_H_
#define SLUICE_KERNELS_LIBRARY_MULTIPLY_MULTIPLY_H_

#include <cstddef>

#include "kernels/library/multiply/matrix_product.h"

namespace sluice::kernels {

// The bits of each depend on m, n, k, the strides and the loops alone. Many small products share
// what a call takes.
void multiply(const MatrixProduct& product);

// Whether rows of c have the same bits if some are computed at a time (MatrixProduct::is_part).
bool has_parts(const MatrixProduct& product);

// For products by one b, one after another: what it takes in memory as multiply() packs it. 0 if
// that doesn't, or it would take too much.
size_t packed_bytes_of_b(const MatrixProduct& product);
void pack_b(const MatrixProduct& product, void* out);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_MULTIPLY_MULTIPLY_H_
