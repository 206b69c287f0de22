// What the code generated for this machine depends on.
#ifndef SLUICE_KERNELS_COMPILED_CPU_IDENTITY_H_
#define SLUICE_KERNELS_COMPILED_CPU_IDENTITY_H_

#include <string>

namespace sluice::kernels {

// Equal for equal CPUs under equal systems: all that the CPU says of its model and instructions.
const std::string& cpu_identity();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_COMPILED_CPU_IDENTITY_H_
