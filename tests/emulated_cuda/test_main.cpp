// main() of the engine's tests. SLUICE_EMULATED_CUDA=<seed> installs the emulated CUDA driver;
// SLUICE_DEVICE=cuda then makes its device the default, and SLUICE_EMULATED_CUDNN=1 gives it a
// cuDNN, SLUICE_EMULATED_CUSOLVER=1 a cuSOLVER.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tests/emulated_cuda/start.h"
#include "tests/ptx_device/module.h"

namespace {

void print_ptx_counts() {
  const sluice::ptx::Counts counts = sluice::ptx::counts();
  if (counts.modules == 0) return;
  std::printf("PTX: %lld launches of %lld modules, %lld million instructions of warps\n",
              static_cast<long long>(counts.launches), static_cast<long long>(counts.modules),
              static_cast<long long>(counts.instructions / 1'000'000));
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* const seed = std::getenv("SLUICE_EMULATED_CUDA");
  if (seed == nullptr || *seed == '\0') {
    const int result = RUN_ALL_TESTS();
    print_ptx_counts();
    return result;
  }

  auto& emulator = sluice::emulated::start(
      {.seed = std::strtoull(seed, nullptr, 10), .memory_bytes = size_t{2} << 30});
  int result = RUN_ALL_TESTS();
  std::printf("%lld kernels ran on the emulated device\n",
              static_cast<long long>(emulator.kernels_run()));
  print_ptx_counts();
  for (const std::string& violation : emulator.violations()) {
    std::printf("misuse of the driver: %s\n", violation.c_str());
    result = 1;
  }
  if (const sluice::emulated::FakeCudnn* const cudnn = sluice::emulated::started_cudnn()) {
    std::printf("%zu convolutions and %zu other graphs by the emulated cuDNN\n",
                cudnn->runs().size(), cudnn->graphs().size());
    for (const std::string& misuse : cudnn->misuse()) {
      std::printf("misuse of cuDNN: %s\n", misuse.c_str());
      result = 1;
    }
  }
  if (const sluice::emulated::FakeCusolver* const cusolver = sluice::emulated::started_cusolver()) {
    std::printf("%zu routines of the emulated cuSOLVER\n", cusolver->runs().size());
    for (const std::string& misuse : cusolver->misuse()) {
      std::printf("misuse of cuSOLVER: %s\n", misuse.c_str());
      result = 1;
    }
  }
  return result;
}
