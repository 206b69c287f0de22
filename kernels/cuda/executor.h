// Runs plans on a GPU. In builds without CUDA no_cuda.cpp replaces the rest of this folder.
#ifndef SLUICE_KERNELS_CUDA_EXECUTOR_H_
#define SLUICE_KERNELS_CUDA_EXECUTOR_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/executor.h"

namespace sluice::kernels::cuda {

// For GPU `index`.
absl::StatusOr<std::unique_ptr<Executor>> make_executor(int index);

// What is built in, such as "by NVRTC, generic kernel ahead of time".
std::string description();

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_EXECUTOR_H_
