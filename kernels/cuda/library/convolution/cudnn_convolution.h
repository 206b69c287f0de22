// Convolutions on a GPU by cuDNN.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_CONVOLUTION_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_CONVOLUTION_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "fusion/library/convolution.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "kernels/cuda/library/convolution/cudnn_plan.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/cuda/driver/context.h"

namespace sluice::kernels::cuda {

// For one GPU. Thread-safe. Outlives the work it is given. Operands that are not dense and aligned
// are copied first, so that bits depend on shapes, the device and the library's version alone.
class CudnnConvolution {
 public:
  // All outlive it. `compiler`: for the kernels that copy.
  static absl::StatusOr<std::unique_ptr<CudnnConvolution>> make(runtime::cuda::Context* context,
                                                                Compiler* compiler,
                                                                const Cudnn* library);
  ~CudnnConvolution();
  CudnnConvolution(const CudnnConvolution&) = delete;
  CudnnConvolution& operator=(const CudnnConvolution&) = delete;

  std::string name() const;  // "cuDNN 9.19"

  // Makes the plan of such a call, and compiles what it needs besides. False: enqueue() will do
  // nothing.
  absl::StatusOr<bool> prepare(const fusion::ConvolutionAttributes& of, bool allow_tf32);

  // Within the run() of a batch of `stream`. `buffers`: of the library call, on the device. False:
  // nothing was done, nor ever will be for an equal call.
  absl::StatusOr<bool> enqueue(runtime::cuda::CudaStream* stream,
                               const fusion::ConvolutionAttributes& of, bool allow_tf32,
                               absl::Span<void* const> buffers, absl::string_view label);

 private:
  struct Planned {
    std::mutex mutex;  // guards `plan` until it is made
    std::atomic<bool> is_made{false}, can_run{false};
    std::unique_ptr<DnnPlan> plan;
  };

  using Plans = absl::flat_hash_map<DnnConvolution, std::shared_ptr<Planned>>;

  CudnnConvolution(runtime::cuda::Context* context, Compiler* compiler, const Cudnn* library)
      : context_(context), library_(*library), kernels_(context, compiler) {}
  // With its plan, if there is one. kResourceExhausted: there was no memory to make it.
  absl::StatusOr<std::shared_ptr<Planned>> find(const DnnConvolution& convolution);
  SourceKernel& copying(DType dtype);
  // The operand, or a copy of it, which is the caller's to free; `*copy` is null if there is none.
  absl::StatusOr<void*> place(runtime::cuda::CudaStream* stream,
                              const fusion::ConvolutionAttributes& of, int operand, void* buffer,
                              absl::string_view label, void** copy);

  runtime::cuda::Context* const context_;
  const Cudnn& library_;
  SourceKernels kernels_;
  std::mutex running_;  // a handle is one thread's at a time
  DnnHandle handle_ = nullptr;
  std::mutex mutex_;
  Plans plans_, older_plans_;  // guarded by mutex_
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_CONVOLUTION_H_
