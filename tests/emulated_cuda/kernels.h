// Module images of the emulated device: shared objects, compiled from the text of kernels with the
// host's prelude.
#ifndef SLUICE_TESTS_EMULATED_CUDA_KERNELS_H_
#define SLUICE_TESTS_EMULATED_CUDA_KERNELS_H_

#include <string>

#include "tests/emulated_cuda/emulated_cuda.h"

namespace sluice::emulated {

// Loads an image; null and a reason if it is none.
void* open_image(const void* image, std::string* error);
void close_image(void* library);

// The kernel of that name in a library; empty if there is none. The one place that knows what the
// host's prelude makes of a kernel.
KernelFunction find_kernel(void* library, const char* name);

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_KERNELS_H_
