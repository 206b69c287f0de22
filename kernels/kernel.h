// One Program and the forms it runs in: bytecode at once, machine code when it has been compiled.
#ifndef SLUICE_KERNELS_KERNEL_H_
#define SLUICE_KERNELS_KERNEL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "fusion/ir/program.h"
#include "kernels/description.h"
#include "kernels/executable.h"
#include "kernels/tier_trial.h"

namespace sluice::kernels {

enum class Tier : uint8_t {
  kInterpreted,  // never compile
  kAsync,        // interpret until another thread has compiled the program
  kCompiled,     // compile before the first run; interpret only if that fails
};

// Thread-safe.
class Kernel : public std::enable_shared_from_this<Kernel> {
 public:
  explicit Kernel(fusion::Program program);

  const fusion::Program& program() const { return program_; }
  double cost_of_point() const { return cost_of_point_; }

  // What to run now. Under kCompiled this compiles the program; under kAsync `trial()` may prefer
  // to interpret it.
  const Executable& executable(Tier tier);
  TierTrial& trial() { return trial_; }
  // Tells the trial of a run under kAsync.
  void add_run(const Executable& executable, double ns_per_unit);
  // Queues the compilation on CompileThreads, once.
  void request_compiled();

  bool is_compiled(const Executable& executable) const {
    return &executable == compiled_.load(std::memory_order_acquire);
  }

  KernelDescription describe(bool with_code) const;

 private:
  // Compiles the program or loads it from the disk cache. Tried once.
  void compile();

  const fusion::Program program_;
  const double cost_of_point_;
  std::once_flag interpreted_once_;
  std::shared_ptr<const Executable> interpreted_;
  std::once_flag compiled_once_;
  std::shared_ptr<const Executable> compiled_owner_;
  std::atomic<const Executable*> compiled_{nullptr};
  std::atomic<bool> requested_{false};
  TierTrial trial_;
};

// For tests: replaces a program just before it is compiled. Null: no replacement.
extern std::atomic<fusion::Program (*)(const fusion::Program& program)> compile_instead;

// Of all kernels, since the start of the process.
struct CompileCounts {
  int64_t compiles = 0;
  int64_t failures = 0;
  int64_t disk_hits = 0;  // kernels that another process had compiled
  int64_t slower = 0;     // kernels whose compiled form was given up: it took longer
};
CompileCounts compile_counts();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_KERNEL_H_
