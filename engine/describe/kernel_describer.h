// Kernels as the trace shows them: their programs, and source and assembly within a budget. They
// are described when somebody asks for a trace, never while the program runs.
#ifndef SLUICE_ENGINE_DESCRIBE_KERNEL_DESCRIBER_H_
#define SLUICE_ENGINE_DESCRIBE_KERNEL_DESCRIBER_H_

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kernels/description.h"
#include "kernels/executor.h"

namespace sluice::engine {

// Thread-safe.
class KernelDescriber {
 public:
  // Source and assembly take the code generator about 10 ms, and 40 us for each byte of the
  // program. Only the kernels of a step whose programs have at most so many bytes get them.
  static constexpr size_t kMaxProgramBytes = 16 << 10;
  // Of a longer program, a trace has the first lines.
  static constexpr size_t kMaxBytesShown = 64 << 10;

  // The kernels of a step; none for a library call. Once code generation has taken `budget` since
  // clear(), kernels that have no code yet are left without: one kernel may exceed it.
  std::vector<kernels::KernelDescription> describe(const kernels::PlanCode& code, size_t step,
                                                   std::chrono::nanoseconds budget);
  void clear();

 private:
  struct Code {
    std::string language, source, assembly;
  };

  std::mutex mutex_;
  absl::flat_hash_map<std::string, Code> codes_;  // by key
  std::chrono::nanoseconds spent_{0};
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_DESCRIBE_KERNEL_DESCRIBER_H_
