// GPUs have no library for convolutions yet: the frontend records none there, but what conv2d() is
// composed of (frontend/layers/library_convolution.h).
#include "kernels/cuda/library/library.h"

namespace sluice::kernels::cuda {
namespace {

class NoRunner : public LibraryRunner {
 public:
  absl::Status prepare(const fusion::LibraryCall&) override { return missing(); }
  absl::Status enqueue(runtime::cuda::CudaStream*, const fusion::LibraryCall&,
                       absl::Span<void* const>, absl::string_view) override {
    return missing();
  }

 private:
  static absl::Status missing() {
    return absl::UnimplementedError("GPUs have no library for convolutions");
  }
};

}  // namespace

std::unique_ptr<LibraryRunner> make_convolution_runner(const LibraryDevice&) {
  return std::make_unique<NoRunner>();
}

}  // namespace sluice::kernels::cuda
