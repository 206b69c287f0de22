// Library calls of kind kConvolution on a GPU: by cuDNN where it is present and has an engine for
// them, else by kernels of our own.
#include "fusion/library/convolution.h"

#include <memory>

#include "kernels/cuda/library/convolution/cudnn_convolution.h"
#include "kernels/cuda/library/convolution/own_convolution.h"
#include "kernels/cuda/library/library.h"

namespace sluice::kernels::cuda {
namespace {

class ConvolutionCalls : public LibraryRunner {
 public:
  explicit ConvolutionCalls(const LibraryDevice& device)
      : library_(CudnnConvolution::open(device)), own_(device.context, device.compiler) {}

  absl::Status prepare(const fusion::LibraryCall& call) override {
    const fusion::ConvolutionAttributes& of = fusion::convolution_of(call);
    if (library_ != nullptr) {
      const absl::StatusOr<bool> is_ready = library_->prepare(of, call.allow_tf32);
      if (!is_ready.ok()) return is_ready.status();
      if (*is_ready) return absl::OkStatus();
    }
    return own_.prepare(of);
  }
  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label) override {
    const fusion::ConvolutionAttributes& of = fusion::convolution_of(call);
    if (library_ != nullptr) {
      const absl::StatusOr<bool> done =
          library_->enqueue(stream, of, call.allow_tf32, buffers, label);
      if (!done.ok()) return done.status();
      if (*done) return absl::OkStatus();
    }
    return own_.enqueue(stream, of, buffers, label);
  }

 private:
  const std::unique_ptr<CudnnConvolution> library_;  // null if there is none
  OwnConvolution own_;
};

}  // namespace

std::unique_ptr<LibraryRunner> make_convolution_runner(const LibraryDevice& device) {
  return std::make_unique<ConvolutionCalls>(device);
}

}  // namespace sluice::kernels::cuda
