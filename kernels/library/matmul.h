// Matrix products by a library.
#ifndef SLUICE_KERNELS_LIBRARY_MATMUL_H_
#define SLUICE_KERNELS_LIBRARY_MATMUL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "fusion/library/matmul.h"

namespace sluice::kernels {

// A product and where its operands are. float32 only: the frontend expresses other dtypes in it, or
// as a reduction. k == 0 gives products of zero. The bits depend on the shapes, the strides and the
// epilogues' kinds alone. An activation of a finite x is within 1e-6 * max(1, |x|) of its value;
// NaN may become 0 in relu, -infinity NaN in gelu and silu.
struct Matmul : fusion::MatmulShape {
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  absl::Span<const fusion::Epilogue> epilogues;
  absl::Span<void* const> buffers;  // that the epilogues' operands are numbers of

  // Where the operand of an epilogue begins; null if it has none, or there are no buffers.
  const float* operand(const fusion::Epilogue& epilogue) const {
    if (epilogue.operand < 0 || buffers.empty()) return nullptr;
    return static_cast<const float*>(buffers[epilogue.operand]) + epilogue.offset;
  }
};

// `call`, of kind kMatmul, on `buffers`, both of which outlive the result. Without buffers all
// addresses are null.
Matmul bind_matmul(const fusion::LibraryCall& call, absl::Span<void* const> buffers);

// Runs it on the calling thread and workers.
absl::Status matmul(const Matmul& matmul);

// "oneDNN 2.6.3", or what stands in for it.
std::string matmul_library();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_MATMUL_H_
