// Replaces this folder in a build without CUDA.
#include "runtime/cuda/backends.h"

namespace sluice::runtime::cuda {

int num_cuda_devices() { return 0; }

absl::StatusOr<Backend*> cuda_backend(int) {
  return absl::FailedPreconditionError("this build of sluice is without CUDA");
}

std::vector<Backend*> open_cuda_backends() { return {}; }

}  // namespace sluice::runtime::cuda
