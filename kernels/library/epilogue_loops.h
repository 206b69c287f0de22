// The epilogues of matrix products.
#ifndef SLUICE_KERNELS_LIBRARY_EPILOGUE_LOOPS_H_
#define SLUICE_KERNELS_LIBRARY_EPILOGUE_LOOPS_H_

#include <cstdint>

#include "kernels/library/matmul.h"

namespace sluice::kernels {

// Applies the epilogues of `matmul` to rows [begin, end) of the batch * m rows of its c.
void apply_epilogues(const Matmul& matmul, int64_t begin, int64_t end);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_EPILOGUE_LOOPS_H_
