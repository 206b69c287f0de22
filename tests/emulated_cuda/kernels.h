// Module images of the emulated device: shared objects compiled from kernel text with the host
// prelude.
#ifndef SLUICE_TESTS_EMULATED_CUDA_KERNELS_H_
#define SLUICE_TESTS_EMULATED_CUDA_KERNELS_H_

#include <string>

#include "tests/emulated_cuda/emulated_cuda.h"

namespace sluice::emulated {

// Loads an image. On failure returns null and sets `error`.
void* open_image(const void* image, std::string* error);
void close_image(void* library);

// The kernel `name` of a library; empty if it has none. Only this function depends on the symbols
// that the host prelude exports for a kernel.
KernelFunction find_kernel(void* library, const char* name);

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_KERNELS_H_
