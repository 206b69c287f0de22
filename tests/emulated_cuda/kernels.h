// Module images of the emulated device:
//   - shared objects compiled from kernel text with the host's prelude, as bytes or as an absolute
//     path
//   - PTX, as NVRTC makes it. A first line with kHostObject names a shared object of the same
//     kernels: each launch then runs both, and fails if they leave different bits
#ifndef SLUICE_TESTS_EMULATED_CUDA_KERNELS_H_
#define SLUICE_TESTS_EMULATED_CUDA_KERNELS_H_

#include <string>

#include "tests/emulated_cuda/emulated_cuda.h"

namespace sluice::emulated {

inline constexpr char kHostObject[] = "// host ";

// Loads an image. On failure returns null and sets `error`.
void* open_image(const void* image, std::string* error);
void close_image(void* image);

// Whether launches check accesses, so that they need ptx::MemoryMap::of_thread().
bool checks_memory(const void* image);

// The kernel `name` of an image; empty if it has none.
KernelFunction find_kernel(void* image, const char* name);

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_KERNELS_H_
