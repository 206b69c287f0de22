// Installs the emulated driver for a whole process.
#ifndef SLUICE_TESTS_EMULATED_CUDA_START_H_
#define SLUICE_TESTS_EMULATED_CUDA_START_H_

#include <malloc.h>

#include <memory>

#include "kernels/cuda/gpu.h"
#include "tests/emulated_cuda/emulated_cuda.h"
#include "tests/emulated_cuda/test_compiler.h"

namespace sluice::emulated {

// Call once, before any device is used. Never destroyed: streams and memory are released after
// main.
inline EmulatedCuda& start(const Options& options = {}) {
  static auto* const emulator = new EmulatedCuda(options);
  kernels::cuda::set_compiler_for_testing(make_test_compiler);
  // Returning the stacks of a kernel's threads to the system each time would take longer than most
  // kernels.
  constexpr int kMuch = 1 << 30;
  mallopt(M_TRIM_THRESHOLD, kMuch);
  mallopt(M_MMAP_THRESHOLD, kMuch);
  mallopt(M_TOP_PAD, 32 << 20);
  return *emulator;
}

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_START_H_
