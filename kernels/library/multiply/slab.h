// A part of a product: some rows and columns of c, and some of the depth.
#ifndef SLUICE_KERNELS_LIBRARY_MULTIPLY_SLAB_H_
#define SLUICE_KERNELS_LIBRARY_MULTIPLY_SLAB_H_

#include <cstdint>

#include "kernels/library/multiply/matrix_product.h"

namespace sluice::kernels {

// Adds the products of the slab of the depth that begins at `first` to some rows of c, at most as
// many as are packed at a time, and some columns. Where c is rounded, `sums` has what the slabs
// before it gave, without gaps; null if it is the only one.
void multiply_slab(const MatrixProduct& product, int64_t row, int64_t rows, int64_t column,
                   int64_t columns, int64_t first, char* sums);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_MULTIPLY_SLAB_H_
