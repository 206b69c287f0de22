// main() of the engine's tests. With SLUICE_EMULATED_CUDA=<seed> in the environment they run on a
// CUDA driver without a GPU, and SLUICE_DEVICE=cuda then makes its device the default.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "sluice/kernels/cuda/gpu.h"
#include "sluice/sluice.h"
#include "sluice/tests/emulated_cuda/emulated_cuda.h"
#include "sluice/tests/emulated_cuda/host_compiler.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* const seed = std::getenv("SLUICE_EMULATED_CUDA");
  if (seed == nullptr || *seed == '\0') return RUN_ALL_TESTS();

  // Never destroyed: streams and memory are given back after main.
  auto& emulator = *new sluice::emulated::EmulatedCuda(
      {.seed = std::strtoull(seed, nullptr, 10), .memory_bytes = size_t{2} << 30});
  sluice::kernels::cuda::set_compiler_for_testing(
      [] { return std::make_unique<sluice::emulated::HostCompiler>(); });
  int result = RUN_ALL_TESTS();
  std::printf("%lld kernels ran on the emulated device\n",
              static_cast<long long>(emulator.kernels_run()));
  for (const std::string& violation : emulator.violations()) {
    std::printf("misuse of the driver: %s\n", violation.c_str());
    result = 1;
  }
  return result;
}
