// The epilogues of matrix products.
#ifndef SLUICE_KERNELS_LIBRARY_EPILOGUE_LOOPS_H_
#define SLUICE_KERNELS_LIBRARY_EPILOGUE_LOOPS_H_

#include <cstdint>

#include "kernels/library/matmul.h"

namespace sluice::kernels {

// Applies the epilogues of `matmul` to rows [begin, end) of its batch * m rows, of which `sums`
// holds the product, and stores them to its c. Overwrites `sums`, which may be these rows of c.
void apply_epilogues(const Matmul& matmul, int64_t begin, int64_t end, float* sums);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_EPILOGUE_LOOPS_H_
