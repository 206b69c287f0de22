// The GPUs of this process, for code outside this folder. A build without CUDA compiles no_cuda.cpp
// instead of the rest of the folder.
#ifndef SLUICE_RUNTIME_CUDA_BACKENDS_H_
#define SLUICE_RUNTIME_CUDA_BACKENDS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/backend.h"

namespace sluice::runtime::cuda {

// The number of GPUs that this process can use; 0 without a driver.
int num_cuda_devices();

// GPU `index`, opened by the first call and kept until the process ends. The message of an error is
// one sentence for the user.
absl::StatusOr<Backend*> cuda_backend(int index);

// The GPUs opened so far.
std::vector<Backend*> open_cuda_backends();

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_BACKENDS_H_
