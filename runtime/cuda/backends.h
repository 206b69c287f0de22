// The GPUs of this process, for code that knows nothing else of CUDA. Where CUDA is not built in,
// no_cuda.cpp stands for the rest of this folder.
#ifndef SLUICE_RUNTIME_CUDA_BACKENDS_H_
#define SLUICE_RUNTIME_CUDA_BACKENDS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/backend.h"

namespace sluice::runtime::cuda {

// How many GPUs this process can use; 0 if there is no driver.
int num_cuda_devices();

// GPU `index`, opened when it is first asked for; it lives until the process ends. Why there is
// none, or why it cannot be opened, is one sentence for the user.
absl::StatusOr<Backend*> cuda_backend(int index);

// Those that have been opened.
std::vector<Backend*> open_cuda_backends();

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_BACKENDS_H_
