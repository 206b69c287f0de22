// One GPU: its primary context, what it can do, and whether it still works.
#ifndef SLUICE_RUNTIME_CUDA_DRIVER_CONTEXT_H_
#define SLUICE_RUNTIME_CUDA_DRIVER_CONTEXT_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/buffer.h"
#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/driver/launch_log.h"

namespace sluice::runtime::cuda {

struct DeviceInfo {
  int ordinal = 0;
  std::string name;
  int compute_capability = 0;  // 90: 9.0
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  int shared_bytes_per_multiprocessor = 0;
  int max_threads_per_block = 0;
  int max_shared_bytes_per_block = 0;  // dynamic, when asked for (Module::function)
  int registers_per_block = 0;
  int l2_bytes = 0;
  int64_t memory_bytes = 0;
};

// An error that leaves the GPU's context unusable (an illegal access in a kernel, say) poisons this
// object: whatever is asked of it later answers with that one failure. Thread-safe.
class Context {
 public:
  static absl::StatusOr<std::unique_ptr<Context>> make(const Driver* driver, int ordinal);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return driver_; }
  const DeviceInfo& info() const { return info_; }
  ContextHandle handle() const { return handle_; }

  // Calls a function of the driver that needs nothing but an ok result, on a thread where this
  // context is current (CurrentContext): call<&Driver::event_record>(event, stream).
  template <auto Call, typename... Args>
  absl::Status call(Args... args) {
    if (poisoned()) return failure()->status;
    return check((driver_.*Call)(args...), kNameOf<Call>);
  }
  // The status of a call. Poisons if the result is sticky.
  absl::Status check(Result result, const char* call) {
    if (result == Result::kSuccess) return absl::OkStatus();
    return check_failed(result, call);
  }

  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }
  // Null until poisoned, then one object for good.
  FailureRef failure() const;
  // For a failure after which nobody can tell what the device has done and what not.
  FailureRef poison(Result result, const char* call);

  // Whether every launch is waited for, so that a failure shows at the one that caused it.
  // $SLUICE_SYNC=1 says so from the start.
  bool synchronous() const { return synchronous_.load(std::memory_order_relaxed); }
  void set_synchronous(bool on) { synchronous_.store(on, std::memory_order_relaxed); }

  // The logs that a failure is looked up in.
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
  mutable std::mutex mutex_;               // taken last: nothing is locked under it but a log
  FailureRef failure_;                     // guarded by mutex_
  std::vector<const LaunchLog*> watched_;  // guarded by mutex_
};

// While it lives, the context is the calling thread's current one. Other users of CUDA in the
// process find their own again afterwards.
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
  const absl::Status status_;
};

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_DRIVER_CONTEXT_H_
