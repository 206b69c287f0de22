// Matrices taken apart on a GPU by cuSOLVER, one after another.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_CUSOLVER_FACTOR_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_CUSOLVER_FACTOR_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "fusion/library/factor.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "kernels/cuda/library/factor/cusolver.h"
#include "kernels/cuda/library/factor/matrix_failures.h"
#include "runtime/cuda/cuda_stream.h"

namespace sluice::kernels::cuda {

// For one GPU. Thread-safe. Outlives the work it is given.
//
// The library's matrices lie by columns, ours by rows, so that what it is given as it lies is x
// transposed: its LU and eigenvectors are as we want them, and x^T = V S U^T has the singular
// vectors. For QR and the lower factor of Cholesky x is transposed.
class CusolverFactor {
 public:
  // All outlive it.
  static absl::StatusOr<std::unique_ptr<CusolverFactor>> make(runtime::cuda::Context* context,
                                                              Compiler* compiler,
                                                              const Cusolver* library);
  ~CusolverFactor();
  CusolverFactor(const CusolverFactor&) = delete;
  CusolverFactor& operator=(const CusolverFactor&) = delete;

  // Whether it takes less time than the host does.
  static bool suits(const fusion::FactorAttributes& of);

  absl::Status prepare(const fusion::FactorAttributes& of);

  // Within the run() of a batch of `stream`: until it is done, or some matrix cannot be taken
  // apart. `buffers`: of the library call, on the device. False: the library refuses such calls, or
  // would not be accurate.
  absl::StatusOr<bool> run(runtime::cuda::CudaStream* stream, const fusion::FactorAttributes& of,
                           absl::Span<void* const> buffers, absl::string_view label);

 private:
  template <typename T>
  class Call;

  CusolverFactor(runtime::cuda::Context* context, Compiler* compiler, const Cusolver* library)
      : context_(context), library_(*library), kernels_(context, compiler) {}
  SourceKernel& copying(DType dtype);
  SourceKernel& multiplying(DType dtype);

  runtime::cuda::Context* const context_;
  const Cusolver& library_;
  SourceKernels kernels_;
  std::mutex running_;  // a handle, and the memory it keeps, is one stream's at a time
  SolverHandle handle_ = nullptr;
  SolverParams params_ = nullptr;  // the usual algorithms
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_CUSOLVER_FACTOR_H_
