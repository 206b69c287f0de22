// How a device runs the steps of plans: what differs between devices, for the engine.
#ifndef SLUICE_KERNELS_EXECUTOR_H_
#define SLUICE_KERNELS_EXECUTOR_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sluice/device.h>
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "fusion/plan/plan.h"
#include "kernels/cache/cache.h"
#include "kernels/description.h"
#include "kernels/kernel.h"
#include "kernels/library/matmul.h"
#include "runtime/stream.h"

namespace sluice::kernels {

// When a step ran.
struct StepTime {
  std::chrono::steady_clock::time_point begin;  // of the device's clock, brought to the host's
  std::chrono::nanoseconds duration{0};
  bool generic = false;  // on the generic tier
};

// What a run of a plan works on.
struct Bindings {
  // Where the values begin, by number (fusion::MemoryRef); null: not to be had.
  absl::InlinedVector<void*, 8> inputs, results;
  absl::InlinedVector<uint64_t, 8> scalars;  // of the window
  // (step, number of the call in it; 0 for a library call) of what is not to be run.
  absl::flat_hash_set<std::pair<size_t, size_t>> skipped;
  bool timed = false;  // measure each step

  void* at(const fusion::MemoryRef& ref) const {
    return ref.kind == fusion::MemoryRef::Kind::kInput ? inputs[ref.index] : results[ref.index];
  }
  bool is_skipped(size_t step, size_t call) const {
    return !skipped.empty() && skipped.contains({step, call});
  }
};

// A product with the addresses of its operands; all are null without bindings.
class BoundMatmul {
 public:
  BoundMatmul(const fusion::MatmulStep& step, const Bindings* bindings);
  BoundMatmul(const BoundMatmul&) = delete;
  BoundMatmul& operator=(const BoundMatmul&) = delete;
  const Matmul& get() const { return matmul_; }

 private:
  absl::InlinedVector<Epilogue, 4> epilogues_;
  Matmul matmul_;
};

// One run of a plan. It is kept until the device is done with it.
class Run {
 public:
  virtual ~Run() = default;

  // Executes the steps, or has the device do so: within the run() of a batch, once. What could not
  // be run is left out, and what it would have written has unspecified contents.
  virtual void start(const Bindings& bindings) = 0;

  // After start(): how many launches ran on the generic tier.
  virtual int64_t generic_launches() const = 0;
  // When the device is done: false only if every step was run and no call has error slots.
  virtual bool may_have_failed() const = 0;
  // Why a step could not be run, or not as a whole.
  virtual absl::Status status(size_t step) const = 0;

  // When the device is done, of a timed run: when each step ran. Empty if that is not known.
  virtual std::vector<StepTime> step_times() { return {}; }

  // When the device is done: the error slots of a call, null if it has none or was skipped.
  virtual const ErrorSlot* error_slots(size_t step, size_t call) const = 0;
};

// A plan's steps as code of one device. It outlives its runs. Thread-safe, but for its runs: they
// begin one after another.
class PlanCode {
 public:
  virtual ~PlanCode() = default;

  // `stream`: where the run's batch will be submitted next. Fails if there is no memory for it.
  virtual absl::StatusOr<std::unique_ptr<Run>> make_run(runtime::Stream* stream, Tier tier) = 0;

  // The kernels of a step: none for a library call. `with_code`: also source and assembly, which
  // are made anew; that takes milliseconds for each.
  virtual std::vector<KernelDescription> describe(size_t step, bool with_code) const = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;

  // `labels`: what messages call each step. `tier`: what the first run will ask for, in a moment.
  // `steps` outlives the code; its programs are moved into it.
  virtual std::unique_ptr<PlanCode> prepare(std::vector<fusion::Step>* steps,
                                            std::vector<std::string> labels, Tier tier) = 0;

  virtual CacheStats cache_stats() const = 0;
  // Returns once no compilation is under way or waiting.
  virtual void wait_for_compiler() = 0;
};

// That of `device`, made when it is first asked for; it lives until the process ends. Throws Error
// if there is no such device.
Executor& executor(Device device);

// Of all executors, since the start of the process.
CacheStats total_cache_stats();

// Returns once none of them has a compilation under way or waiting.
void wait_for_compilers();

// For the end of the process: waits for compilations under way and drops those that wait.
void stop_compilers();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_EXECUTOR_H_
