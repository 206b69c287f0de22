// Matrix products by a library.
#ifndef SLUICE_KERNELS_LIBRARY_MATMUL_H_
#define SLUICE_KERNELS_LIBRARY_MATMUL_H_

#include <cstdint>
#include <string>

#include <sluice/dtype.h>
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "fusion/ir/op.h"

namespace sluice::kernels {

// What is done to each element of a product before it is written: an activation (kRelu, kGelu,
// kTanh, kSigmoid, kSilu), or kAdd of the element of `operand` at its place in c, or in one row of
// c.
struct Epilogue {
  fusion::Op op = fusion::Op::kAdd;
  const float* operand = nullptr;  // kAdd only
  bool one_row = false;
};

// c[i] = a[i] b[i] for i < batch; a is (m, k), b is (k, n), c is (m, n) row-major without gaps.
// Strides of a and b are (batch, row, column), in elements, and may be anything. float32 only: the
// frontend expresses other dtypes in it, or as a reduction. k == 0 gives products of zero. The bits
// depend on the shapes, the strides and the epilogues' kinds alone. An activation of a finite x is
// within 1e-6 * max(1, |x|) of its value; NaN may become 0 in relu, -infinity NaN in gelu and silu.
struct Matmul {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  int64_t a_strides[3] = {}, b_strides[3] = {};
  absl::Span<const Epilogue> epilogues;  // in the order in which they apply
};

absl::Status matmul(const Matmul& matmul);

// "oneDNN 2.6.3", or what stands in for it.
std::string matmul_library();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_MATMUL_H_
