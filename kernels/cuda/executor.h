// Runs steps on a GPU.
#ifndef SLUICE_KERNELS_CUDA_EXECUTOR_H_
#define SLUICE_KERNELS_CUDA_EXECUTOR_H_

#include <functional>
#include <memory>

#include "sluice/kernels/cuda/compiler.h"
#include "sluice/kernels/executor.h"
#include "sluice/runtime/cuda/cuda_device.h"

namespace sluice::kernels::cuda {

// `device` outlives it.
std::unique_ptr<Executor> make_executor(runtime::cuda::CudaDevice* device);

// From now on executors get their compilers from here rather than NVRTC.
void set_compiler_for_testing(std::function<std::unique_ptr<Compiler>()> make);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_EXECUTOR_H_
