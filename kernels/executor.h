// How a device runs the steps of plans: all that differs between devices, to the engine.
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
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "fusion/plan/plan.h"
#include "kernels/cache/cache.h"
#include "kernels/description.h"
#include "kernels/executable.h"
#include "runtime/stream.h"

namespace sluice::kernels {

// When a step ran.
struct StepTime {
  std::chrono::steady_clock::time_point begin;  // device time converted to the host's clock
  std::chrono::nanoseconds duration{0};
  bool generic = false;  // on the generic tier
};

// The memory and scalars of one run.
struct Bindings {
  // Base addresses, by number (fusion::MemoryRef); null if the memory could not be allocated.
  absl::InlinedVector<void*, 8> inputs, results;
  absl::InlinedVector<uint64_t, 8> scalars;  // of the window
  // (step, call within it) of the calls that must not run.
  absl::flat_hash_set<std::pair<size_t, size_t>> skipped;
  bool timed = false;           // measure each step
  bool compares_tiers = false;  // measure kernels that are in both tiers, and run the faster

  void* at(const fusion::MemoryRef& ref) const {
    return ref.kind == fusion::MemoryRef::Kind::kInput ? inputs[ref.index] : results[ref.index];
  }
  // The addresses of all buffers of a call, in order.
  absl::InlinedVector<void*, 8> of(const fusion::Call& call) const {
    absl::InlinedVector<void*, 8> addresses;
    for (const fusion::MemoryRef& ref : call.buffers) addresses.push_back(at(ref));
    return addresses;
  }
  bool is_skipped(size_t step, size_t call) const {
    return !skipped.empty() && skipped.contains({step, call});
  }
};

// One run of a plan. Must be kept until the device is done with it.
class Run {
 public:
  virtual ~Run() = default;

  // Executes the steps, or enqueues them on the device. Called once, within the run() of a batch.
  // Steps that cannot run are skipped; the contents of their results are unspecified.
  virtual void start(const Bindings& bindings) = 0;

  // After start(): how many launches ran on the generic tier.
  virtual int64_t generic_launches() const = 0;
  // Once the device is done: false only if every step ran and no call has error slots.
  virtual bool may_have_failed() const = 0;
  // Why a step did not run, or only in part.
  virtual absl::Status status(size_t step) const = 0;

  // For a timed run, once the device is done: when each step ran. Empty if unknown.
  virtual std::vector<StepTime> step_times() { return {}; }

  // Once the device is done: the error slots of a call; null if it has none or was skipped.
  virtual const ErrorSlot* error_slots(size_t step, size_t call) const = 0;
};

// A plan and its code for one device. Outlives its runs. Thread-safe, except that runs on one
// stream begin one after another.
class PlanCode {
 public:
  explicit PlanCode(fusion::Plan plan) : plan_(std::move(plan)) {}
  virtual ~PlanCode() = default;
  PlanCode(const PlanCode&) = delete;
  PlanCode& operator=(const PlanCode&) = delete;

  // Without the calls' programs, which have moved to the kernels made of them.
  const fusion::Plan& plan() const { return plan_; }

  // `stream`: where the run's batch will be submitted next. Fails if memory runs out.
  virtual absl::StatusOr<std::unique_ptr<Run>> make_run(runtime::Stream* stream, Tier tier) = 0;

  // The kernels of a step: none for a library call. `with_code`: with source and assembly, which
  // are generated anew and take milliseconds each.
  virtual std::vector<KernelDescription> describe(size_t step, bool with_code) const = 0;

 protected:
  // For the constructors of derived classes.
  std::vector<fusion::Step>& steps() { return plan_.steps; }

 private:
  fusion::Plan plan_;
};

class Executor {
 public:
  virtual ~Executor() = default;

  // `label`: names a step in messages; not called afterwards. `tier`: that of the first run, which
  // follows soon.
  using StepLabel = absl::FunctionRef<std::string(const fusion::Step& step)>;
  virtual std::unique_ptr<PlanCode> prepare(fusion::Plan plan, StepLabel label, Tier tier) = 0;

  virtual CacheStats cache_stats() const = 0;
  // Returns once no compilation is running or queued.
  virtual void wait_for_compiler() = 0;
};

// The executor of `device`, created on first use; it lives until the process ends. Throws Error if
// there is no such device.
Executor& executor(Device device);

// Of all executors, since the start of the process.
CacheStats total_cache_stats();

// Returns once no executor has a compilation running or queued.
void wait_for_compilers();

// For the end of the process: waits for compilations under way and drops those that wait.
void stop_compilers();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_EXECUTOR_H_
