#ifndef SLUICE_KERNELS_CPU_CPU_EXECUTOR_H_
#define SLUICE_KERNELS_CPU_CPU_EXECUTOR_H_

#include "kernels/executor.h"

namespace sluice::kernels {

// Runs steps on the calling thread and workers, kernels interpreted or compiled by LLVM.
Executor& cpu_executor();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_CPU_CPU_EXECUTOR_H_
