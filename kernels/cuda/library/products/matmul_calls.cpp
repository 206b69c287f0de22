// Library calls of kind kMatmul on a GPU.
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/library/products/cublaslt.h"
#include "kernels/cuda/library/products/matmul.h"

namespace sluice::kernels::cuda {
namespace {

// Null if there is none.
const CublasLt* find_vendor_library(const LibraryDevice& device) {
  if (device.driver_version == 0) return nullptr;
  return find_cublaslt(device.driver_version).value_or(nullptr);
}

class MatmulCalls : public LibraryRunner {
 public:
  explicit MatmulCalls(const LibraryDevice& device)
      : runner_(device.context, device.compiler, find_vendor_library(device)) {}

  absl::Status prepare(const fusion::LibraryCall& call) override {
    return runner_.prepare(bind_matmul(call, {}));
  }
  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label) override {
    return runner_.enqueue(stream, bind_matmul(call, buffers), label);
  }

 private:
  MatmulRunner runner_;
};

}  // namespace

std::unique_ptr<LibraryRunner> make_matmul_runner(const LibraryDevice& device) {
  return std::make_unique<MatmulCalls>(device);
}

}  // namespace sluice::kernels::cuda
