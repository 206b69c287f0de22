// Matrix products by a library.
#ifndef SLUICE_KERNELS_LIBRARY_MATMUL_H_
#define SLUICE_KERNELS_LIBRARY_MATMUL_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "sluice/runtime/dtype.h"

namespace sluice::kernels {

// c[i] = a[i] b[i] for i < batch; a is (m, k), b is (k, n), c is (m, n) row-major without gaps.
// Strides of a and b are (batch, row, column), in elements, and may be anything. float32 only: the
// frontend expresses other dtypes in it, or as a reduction. k == 0 gives zeros. The bits depend on
// the shapes and strides alone.
struct Matmul {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  int64_t a_strides[3] = {}, b_strides[3] = {};
};

absl::Status matmul(const Matmul& matmul);

// "oneDNN 2.6.3", or what stands in for it.
std::string matmul_library();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_MATMUL_H_
