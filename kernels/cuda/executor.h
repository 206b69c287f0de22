// Runs steps on a GPU.
#ifndef SLUICE_KERNELS_CUDA_EXECUTOR_H_
#define SLUICE_KERNELS_CUDA_EXECUTOR_H_

#include <memory>

#include "sluice/kernels/executor.h"
#include "sluice/runtime/cuda/cuda_device.h"

namespace sluice::kernels::cuda {

// `device` outlives it.
std::unique_ptr<Executor> make_executor(runtime::cuda::CudaDevice* device);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_EXECUTOR_H_
