// A GPU's primary context, its properties, and whether it is still usable.
#ifndef SLUICE_RUNTIME_CUDA_DRIVER_CONTEXT_H_
#define SLUICE_RUNTIME_CUDA_DRIVER_CONTEXT_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/driver/launch_log.h"
#include "runtime/memory/buffer.h"

namespace sluice::runtime::cuda {

struct DeviceInfo {
  int ordinal = 0;
  std::string name;
  int compute_capability = 0;  // 90: 9.0
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  int shared_bytes_per_multiprocessor = 0;
  int max_threads_per_block = 0;
  int max_shared_bytes_per_block = 0;  // dynamic, opted in by Module::function
  int registers_per_block = 0;
  int l2_bytes = 0;
  int64_t memory_bytes = 0;
};

// A sticky error, which leaves the GPU's context unusable (such as an illegal access in a kernel),
// poisons this object: every later call returns that failure. Thread-safe.
class Context {
 public:
  static absl::StatusOr<std::unique_ptr<Context>> make(const Driver* driver, int ordinal);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return driver_; }
  const DeviceInfo& info() const { return info_; }
  ContextHandle handle() const { return handle_; }

  // Calls a driver function for its status: call<&Driver::event_record>(event, stream). This
  // context must be current on the thread (CurrentContext).
  template <auto Call, typename... Args>
  absl::Status call(Args... args) {
    if (poisoned()) return failure()->status;
    return check((driver_.*Call)(args...), kNameOf<Call>);
  }
  // Converts the result of a call. A sticky result poisons the context.
  absl::Status check(Result result, const char* call) {
    if (result == Result::kSuccess) return absl::OkStatus();
    return check_failed(result, call);
  }

  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }
  // Null until poisoned, then always the same object.
  FailureRef failure() const;
  // For a failure after which the state of the device is unknown.
  FailureRef poison(Result result, const char* call);

  // Around fork(): until leave_fork() no other thread holds what the child needs. The child has no
  // CUDA; there everything fails from then on.
  void enter_fork() { mutex_.lock(); }
  void leave_fork(bool is_child);

  // If true, every launch is waited for, so that a failure is reported by the launch that caused
  // it. Initially set by SLUICE_SYNC=1.
  bool synchronous() const { return synchronous_.load(std::memory_order_relaxed); }
  void set_synchronous(bool on) { synchronous_.store(on, std::memory_order_relaxed); }

  // Registers a log that failures are looked up in.
  void watch(const LaunchLog* log);
  void unwatch(const LaunchLog* log);

 private:
  explicit Context(const Driver* driver);
  absl::Status open(int ordinal);
  absl::Status check_failed(Result result, const char* call);

  const Driver& driver_;
  DeviceInfo info_;
  DeviceHandle device_ = 0;
  ContextHandle handle_ = nullptr;
  std::atomic<bool> synchronous_{false};
  std::atomic<bool> poisoned_{false};
  mutable std::mutex mutex_;               // innermost, except for a log's
  FailureRef failure_;                     // guarded by mutex_
  std::vector<const LaunchLog*> watched_;  // guarded by mutex_
};

// Makes the context current on the calling thread during its lifetime, then restores the previous
// one for other users of CUDA in the process. Costs nothing inside another one of the same context.
class CurrentContext {
 public:
  explicit CurrentContext(Context* context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

  // Not ok: the context is not current and must not be used.
  const absl::Status& status() const { return status_; }

 private:
  Context* const context_;
  Context* const before_;  // what another CurrentContext of this thread has made current
  const absl::Status status_;
};

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_DRIVER_CONTEXT_H_
