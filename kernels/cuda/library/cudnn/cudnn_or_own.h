// Kinds of library calls that a GPU runs by cuDNN where it can.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_OR_OWN_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_OR_OWN_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "fusion/lower/step.h"
#include "kernels/cuda/library/library.h"
#include "runtime/cuda/cuda_stream.h"

namespace sluice::kernels::cuda {

// Calls of one kind by cuDNN where it is present and has an engine for them, else by kernels of our
// own. Both classes have the functions of a LibraryRunner; `OfCudnn`'s say whether they did what
// they were asked for, and OfCudnn::open() gives null where there is no such library.
template <typename OfCudnn, typename Own>
class CudnnOrOwn : public LibraryRunner {
 public:
  explicit CudnnOrOwn(const LibraryDevice& device)
      : cudnn_(OfCudnn::open(device)), own_(device.context, device.compiler) {}

  absl::Status prepare(const fusion::LibraryCall& call) override {
    if (cudnn_ != nullptr) {
      const absl::StatusOr<bool> is_ready = cudnn_->prepare(call);
      if (!is_ready.ok()) return is_ready.status();
      if (*is_ready) return absl::OkStatus();
    }
    return own_.prepare(call);
  }
  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label) override {
    if (cudnn_ != nullptr) {
      const absl::StatusOr<bool> done = cudnn_->enqueue(stream, call, buffers, label);
      if (!done.ok()) return done.status();
      if (*done) return absl::OkStatus();
    }
    return own_.enqueue(stream, call, buffers, label);
  }

 private:
  const std::unique_ptr<OfCudnn> cudnn_;
  Own own_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_OR_OWN_H_
