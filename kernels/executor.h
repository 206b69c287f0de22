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
#include "kernels/executable.h"
#include "runtime/stream.h"

namespace sluice::kernels {

// When a step ran.
struct StepTime {
  std::chrono::steady_clock::time_point begin;  // of the device's clock, brought to the host's
  std::chrono::nanoseconds duration{0};
  bool generic = false;  // on the generic tier
};

// The memory and the scalars that a plan runs on.
struct Bindings {
  // Base addresses, by number (fusion::MemoryRef); null if the memory could not be allocated.
  absl::InlinedVector<void*, 8> inputs, results;
  absl::InlinedVector<uint64_t, 8> scalars;  // of the window
  // (step, number of the call in it) of the calls that must not run.
  absl::flat_hash_set<std::pair<size_t, size_t>> skipped;
  bool timed = false;  // measure each step

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

// One run of a plan. It is kept until the device is done with it.
class Run {
 public:
  virtual ~Run() = default;

  // Executes the steps, or has the device do so. Called once, within the run() of a batch. A step
  // that cannot run is left out; the contents of what it would have written are unspecified.
  virtual void start(const Bindings& bindings) = 0;

  // After start(): how many launches ran on the generic tier.
  virtual int64_t generic_launches() const = 0;
  // When the device is done: false only if every step ran and no call has error slots.
  virtual bool may_have_failed() const = 0;
  // Why a step could not run, or only in part.
  virtual absl::Status status(size_t step) const = 0;

  // When the device is done, of a timed run: when each step ran. Empty if that is not known.
  virtual std::vector<StepTime> step_times() { return {}; }

  // When the device is done: the error slots of a call, null if it has none or was skipped.
  virtual const ErrorSlot* error_slots(size_t step, size_t call) const = 0;
};

// A plan as code of one device, which owns it. Outlives its runs. Thread-safe, but for its runs:
// they begin one after another.
class PlanCode {
 public:
  explicit PlanCode(fusion::Plan plan) : plan_(std::move(plan)) {}
  virtual ~PlanCode() = default;
  PlanCode(const PlanCode&) = delete;
  PlanCode& operator=(const PlanCode&) = delete;

  // Its calls are without their programs: those belong to the kernels that they have become.
  const fusion::Plan& plan() const { return plan_; }

  // `stream`: where the run's batch will be submitted next. Fails if there is no memory for it.
  virtual absl::StatusOr<std::unique_ptr<Run>> make_run(runtime::Stream* stream, Tier tier) = 0;

  // The kernels of a step: none for a library call. `with_code`: also source and assembly, which
  // are generated anew; that takes milliseconds for each.
  virtual std::vector<KernelDescription> describe(size_t step, bool with_code) const = 0;

 protected:
  // For the constructors of devices' classes.
  std::vector<fusion::Step>& steps() { return plan_.steps; }

 private:
  fusion::Plan plan_;
};

class Executor {
 public:
  virtual ~Executor() = default;

  // `labels`: what messages call each step. `tier`: what the first run will ask for, in a moment.
  virtual std::unique_ptr<PlanCode> prepare(fusion::Plan plan, std::vector<std::string> labels,
                                            Tier tier) = 0;

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

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_EXECUTOR_H_
