// A fused kernel: one Program and the executables made of it.
#ifndef SLUICE_KERNELS_KERNEL_H_
#define SLUICE_KERNELS_KERNEL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "fusion/ir/program.h"
#include "kernels/description.h"
#include "kernels/executable.h"

namespace sluice::kernels {

enum class Tier : uint8_t {
  kInterpreted,  // never compile
  kAsync,        // interpreted until the compiled form, made on another thread, is there
  kCompiled,     // compile before the first run; interpreted only if that fails
};

// One Program and its executables. Thread-safe.
class Kernel : public std::enable_shared_from_this<Kernel> {
 public:
  explicit Kernel(fusion::Program program);

  const fusion::Program& program() const { return program_; }
  double cost_of_point() const { return cost_of_point_; }

  // What to run now. Under kCompiled this does the compilation.
  const Executable& executable(Tier tier);
  // Has it compiled on another thread, unless that has been done.
  void request_compiled();
  bool is_requested() const { return requested_.load(std::memory_order_relaxed); }

  bool is_compiled(const Executable& executable) const {
    return &executable == compiled_.load(std::memory_order_acquire);
  }

  KernelDescription describe(bool with_code) const;

 private:
  // Compiles, or finds on disk, unless that has been tried.
  void compile();

  const fusion::Program program_;
  const double cost_of_point_;
  std::once_flag interpreted_once_;
  std::shared_ptr<const Executable> interpreted_;
  std::once_flag compiled_once_;
  std::shared_ptr<const Executable> compiled_owner_;
  std::atomic<const Executable*> compiled_{nullptr};
  std::atomic<bool> requested_{false};
};

// For tests: what is compiled in the place of a program. Null: the program itself.
extern std::atomic<fusion::Program (*)(const fusion::Program& program)> compile_instead;

// Of all kernels, since the start of the process.
struct CompileCounts {
  int64_t compiles = 0;
  int64_t failures = 0;
  int64_t disk_hits = 0;  // kernels that another process had compiled
};
CompileCounts compile_counts();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_KERNEL_H_
