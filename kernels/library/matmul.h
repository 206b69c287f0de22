// Matrix products.
#ifndef SLUICE_KERNELS_LIBRARY_MATMUL_H_
#define SLUICE_KERNELS_LIBRARY_MATMUL_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "fusion/library/matmul.h"

namespace sluice::kernels {

// A product and where its operands are. k == 0 gives products of zero. NaN is written as the
// canonical one. The bits depend on the dtypes, the shapes and the strides alone.
// Only products of float32 have epilogues, which have the bits of the ops' own kernels.
struct Matmul : fusion::MatmulShape {
  DType operand_dtype = DType::kFloat32;
  DType dtype = DType::kFloat32;  // of the result: as in MatmulAttributes
  bool allow_tf32 = false;        // a GPU may round float32 operands to TF32
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
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

// What computes products: "Sluice's kernels, x86-64-v4".
std::string matmul_library();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_MATMUL_H_
