// Installs the emulated driver for a whole process.
#ifndef SLUICE_TESTS_EMULATED_CUDA_START_H_
#define SLUICE_TESTS_EMULATED_CUDA_START_H_

#include <malloc.h>

#include <cstdlib>
#include <memory>

#include "kernels/cuda/gpu.h"
#include "tests/emulated_cuda/emulated_cuda.h"
#include "tests/emulated_cuda/fake_cudnn.h"
#include "tests/emulated_cuda/fake_cusolver.h"
#include "tests/emulated_cuda/test_compiler.h"

namespace sluice::emulated {

// What start() has made; null: no cuDNN.
inline FakeCudnn*& started_cudnn() {
  static FakeCudnn* fake = nullptr;
  return fake;
}

// Likewise; null: no cuSOLVER.
inline FakeCusolver*& started_cusolver() {
  static FakeCusolver* fake = nullptr;
  return fake;
}

// Call once, before any device is used. Never destroyed: streams and memory are released after
// main. If SLUICE_EMULATED_CUDNN is set there is a cuDNN, and so with SLUICE_EMULATED_CUSOLVER.
inline EmulatedCuda& start(const Options& options = {}) {
  static auto* const emulator = new EmulatedCuda(options);
  kernels::cuda::set_compiler_for_testing(make_test_compiler);
  if (std::getenv("SLUICE_EMULATED_CUDNN") != nullptr) {
    started_cudnn() = new FakeCudnn(emulator);
    kernels::cuda::set_cudnn_for_testing(FakeCudnn::table());
  }
  if (std::getenv("SLUICE_EMULATED_CUSOLVER") != nullptr) {
    started_cusolver() = new FakeCusolver(emulator);
    kernels::cuda::set_cusolver_for_testing(FakeCusolver::table());
  }
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
