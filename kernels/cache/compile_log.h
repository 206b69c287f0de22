// When kernels were compiled, for the trace: the newest compilations of the process.
#ifndef SLUICE_KERNELS_CACHE_COMPILE_LOG_H_
#define SLUICE_KERNELS_CACHE_COMPILE_LOG_H_

#include <chrono>
#include <string>
#include <vector>

namespace sluice::kernels {

struct Compilation {
  std::string key;   // KernelDescription::key; of several kernels in one go, one entry each
  std::string lane;  // who did it: "LLVM", "NVRTC"
  bool from_disk = false;
  std::chrono::steady_clock::time_point begin;
  std::chrono::nanoseconds duration{0};
};

// Thread-safe. Past kMaxCompilations the oldest are forgotten.
inline constexpr size_t kMaxCompilations = 4096;
void log_compilation(Compilation compilation);
std::vector<Compilation> logged_compilations();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_CACHE_COMPILE_LOG_H_
