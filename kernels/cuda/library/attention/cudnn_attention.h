// Attention of halves on a GPU by cuDNN.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_ATTENTION_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_ATTENTION_H_

#include <array>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "fusion/library/attention.h"
#include "fusion/lower/step.h"
#include "kernels/cuda/library/attention/dnn_attention.h"
#include "kernels/cuda/library/cudnn/dense_copies.h"
#include "kernels/cuda/library/cudnn/handle.h"
#include "runtime/cuda/cuda_stream.h"

namespace sluice::kernels::cuda {

// For one GPU. Thread-safe. Outlives the work it is given. Bits depend on shapes, the device and
// the library's version alone: the engine is that which the library recommends for tensors without
// gaps. Operands that it does not read where they are, are copied first.
class CudnnAttention {
 public:
  // Null where there is no such library. What the device has outlives it.
  static std::unique_ptr<CudnnAttention> open(const LibraryDevice& device);

  // Makes the plan of such a call, and compiles what it needs besides. False: enqueue() will do
  // nothing.
  absl::StatusOr<bool> prepare(const fusion::LibraryCall& call);

  // Within the run() of a batch of `stream`. `buffers`: of the library call, on the device. False:
  // nothing was done, nor ever will be for an equal call.
  absl::StatusOr<bool> enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                               absl::Span<void* const> buffers, absl::string_view label);

 private:
  CudnnAttention(const LibraryDevice& device, std::unique_ptr<DnnOnDevice> cudnn)
      : cudnn_(std::move(cudnn)), plans_(cudnn_.get()), copies_(device.context, device.compiler) {}
  bool can_be(const fusion::AttentionAttributes& of) const;

  using Planned = DnnPlans<DnnAttention>::Planned;
  // How a call is computed.
  struct Way {
    std::shared_ptr<Planned> dense, placed;  // the latter reads what is `in_place`
    std::array<bool, 3> in_place{};
  };
  // `buffers`: null where there are no addresses yet. Without plans if there is none.
  absl::StatusOr<Way> find(const fusion::AttentionAttributes& of, void* const* buffers);

  const std::unique_ptr<DnnOnDevice> cudnn_;
  DnnPlans<DnnAttention> plans_;
  DenseCopies copies_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_ATTENTION_H_
