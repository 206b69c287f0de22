// What tests of devices share: processes with emulated GPUs, and something for these to do.
#ifndef SLUICE_TESTS_CUDA_CUDA_DEVICES_H_
#define SLUICE_TESTS_CUDA_CUDA_DEVICES_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include <sluice/sluice.h>
#include "absl/strings/str_cat.h"
#include "tests/emulated_cuda/start.h"
#include "tests/support/child_process.h"

namespace sluice::test {

using emulated::EmulatedCuda;
using emulated::Options;
using runtime::cuda::Result;
using Code = ErrorCode;

inline constexpr Device kCpu = Device::cpu();
inline constexpr Device kFirst = Device::cuda(0), kSecond = Device::cuda(1);

class CudaDevices : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("SLUICE_EMULATED_CUDA") != nullptr) GTEST_SKIP() << "has emulators of its own";
  }

  // In a process with emulated devices and nothing in the environment that chooses one.
  static void with(const Options& options, const std::function<void(EmulatedCuda&)>& body) {
    run_in_child(absl::StrCat("seed ", options.seed), [&] {
      unsetenv("SLUICE_DEVICE");
      unsetenv("SLUICE_SYNC");
      EmulatedCuda& emulator = emulated::start(options);
      body(emulator);
      for (const std::string& text : emulator.violations()) ADD_FAILURE() << text;
    });
  }

  static void with_seeds(Options options, const std::function<void(EmulatedCuda&)>& body) {
    for (options.seed = 1; options.seed <= 6; ++options.seed) with(options, body);
  }
};

// A function of the tensor's own device, of several kernels.
inline Tensor work(Tensor x, int steps) {
  for (int i = 0; i < steps; ++i) {
    x = softmax(x * 1.5f + full_like(x, 0.25f), -1) + matmul(x, x.T()) * 0.01f;
  }
  return x;
}
inline Tensor square_matrix(Device device, float scale = 1) {
  return (reshape(arange(0, 64, 1, DType::kFloat32, device), {8, 8}) - 31.f) * (0.05f * scale);
}

}  // namespace sluice::test

#endif  // SLUICE_TESTS_CUDA_CUDA_DEVICES_H_
