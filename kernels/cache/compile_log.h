// A log of the process's newest compilations, for the trace.
#ifndef SLUICE_KERNELS_CACHE_COMPILE_LOG_H_
#define SLUICE_KERNELS_CACHE_COMPILE_LOG_H_

#include <chrono>
#include <string>
#include <vector>

namespace sluice::kernels {

struct Compilation {
  std::string key;   // KernelDescription::key; kernels compiled together get an entry each
  std::string lane;  // the compiler: "LLVM", "NVRTC"
  bool from_disk = false;
  std::chrono::steady_clock::time_point begin;
  std::chrono::nanoseconds duration{0};
};

// Thread-safe. Keeps the newest kMaxCompilations entries.
inline constexpr size_t kMaxCompilations = 4096;
void log_compilation(Compilation compilation);
std::vector<Compilation> logged_compilations();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_CACHE_COMPILE_LOG_H_
