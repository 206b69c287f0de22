// Matrices taken apart on a GPU by kernels of our own: those that fit in a block's shared memory.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_OWN_FACTOR_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_OWN_FACTOR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "fusion/library/factor.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "kernels/cuda/library/factor/matrix_failures.h"
#include "runtime/cuda/cuda_stream.h"

namespace sluice::kernels::cuda {

// A matrix has 8 to 256 threads of a block, by its rows. Cholesky's factor is made column by
// column; systems are solved by elimination with partial pivoting, right-hand sides beside the
// matrix, and an inverse is the solution for the identity. A matrix's bits depend on its rows and
// dtype alone. Thread-safe. Outlives the work it is given.
class OwnFactor {
 public:
  OwnFactor(runtime::cuda::Context* context, Compiler* compiler) : kernels_(context, compiler) {}

  static bool suits(const fusion::FactorAttributes& of);

  absl::Status prepare(const fusion::FactorAttributes& of);

  // Within the run() of a batch of `stream`. `buffers`: of the library call, on the device.
  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::FactorAttributes& of,
                       absl::Span<void* const> buffers, MatrixFailures* failures,
                       absl::string_view label);

 private:
  SourceKernel& kernel(const fusion::FactorAttributes& of, int64_t kilobytes);

  SourceKernels kernels_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_OWN_FACTOR_H_
