// Convolutions on a GPU by cuDNN.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_CONVOLUTION_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_CONVOLUTION_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "fusion/lower/step.h"
#include "kernels/cuda/library/convolution/dnn_convolution.h"
#include "kernels/cuda/library/cudnn/dense_copies.h"
#include "kernels/cuda/library/cudnn/handle.h"
#include "runtime/cuda/cuda_stream.h"

namespace sluice::kernels::cuda {

// For one GPU. Thread-safe. Outlives the work it is given. Operands that are not dense and aligned
// are copied first, so that bits depend on shapes, the device and the library's version alone.
class CudnnConvolution {
 public:
  // Null where there is no such library. What the device has outlives it.
  static std::unique_ptr<CudnnConvolution> open(const LibraryDevice& device);

  // Makes the plan of such a call, and compiles what it needs besides. False: enqueue() will do
  // nothing.
  absl::StatusOr<bool> prepare(const fusion::LibraryCall& call);

  // Within the run() of a batch of `stream`. `buffers`: of the library call, on the device. False:
  // nothing was done, nor ever will be for an equal call.
  absl::StatusOr<bool> enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                               absl::Span<void* const> buffers, absl::string_view label);

 private:
  CudnnConvolution(const LibraryDevice& device, std::unique_ptr<DnnOnDevice> cudnn)
      : cudnn_(std::move(cudnn)), plans_(cudnn_.get()), copies_(device.context, device.compiler) {}

  const std::unique_ptr<DnnOnDevice> cudnn_;
  DnnPlans<DnnConvolution> plans_;
  DenseCopies copies_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_CONVOLUTION_H_
