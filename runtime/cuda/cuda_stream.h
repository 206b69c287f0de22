// A stream of one GPU.
#ifndef SLUICE_RUNTIME_CUDA_CUDA_STREAM_H_
#define SLUICE_RUNTIME_CUDA_CUDA_STREAM_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/cuda/driver/context.h"
#include "runtime/cuda/driver/kernel_launch.h"
#include "runtime/cuda/driver/launch_log.h"
#include "runtime/cuda/event_pool.h"
#include "runtime/stream.h"

namespace sluice::runtime::cuda {

class CudaDevice;

// submit() enqueues the batch on the calling thread, with the device's context current, and
// returns. Tickets of CUDA streams in waits_for(), of any device, become device-side waits; for
// others the caller waits. When the context is poisoned, every batch not known to be done fails
// with the device's failure and counts as done. A stream must outlive batches that wait for its
// tickets. Thread-safe.
class CudaStream : public Stream {
 public:
  static absl::StatusOr<std::unique_ptr<CudaStream>> make(CudaDevice* device);
  ~CudaStream() override;  // waits for its work

  uint64_t submit(std::unique_ptr<CommandBatch> batch, SubmitMode mode) override;
  uint64_t next_ticket() const override;
  void wait(uint64_t ticket) override;
  bool done(uint64_t ticket) const override;
  std::vector<FailureRef> take_failures() override;

  // done() without querying the device: what the host has observed so far.
  bool known_done(uint64_t ticket) const {
    return completed_.load(std::memory_order_acquire) >= ticket;
  }
  // The last ticket that may use memory freed now by this stream's work.
  uint64_t ticket_in_use() const { return in_use_.load(std::memory_order_acquire); }

  // The rest is for run() of this stream's batches and counts as the batch's work.

  // Calls `call`, which enqueues work on handle(). A synchronous context waits for the work.
  // Failures are attributed to `label`.
  absl::Status enqueue(absl::string_view label, absl::FunctionRef<absl::Status()> call);
  absl::Status launch(const KernelLaunch& kernel, absl::string_view label);
  // An event that is done when everything enqueued so far is; null if no event could be recorded
  // and the work has been waited for instead.
  EventRef mark_end();
  // Makes work enqueued after this wait for `event`.
  absl::Status wait_for(const Event& event);

  StreamHandle handle() const { return handle_; }
  CudaDevice& device() const { return device_; }

 private:
  struct Pending {
    uint64_t ticket = 0;
    std::unique_ptr<CommandBatch> batch;
    EventRef end;  // done when its work is; null if there is no work left
    uint64_t last_launch = 0;
    bool reports = false;      // the device writes last_launch to progress_ when it is done
    FailureRef failure;        // why it could not run
    std::vector<Event> after;  // batches to finish before this one
  };

  explicit CudaStream(CudaDevice* device);
  absl::Status open();
  void run(Pending* pending);
  // An event that is done when everything up to `ticket` is; waits until that has been submitted.
  // Null if it is done already.
  EventRef end_of(uint64_t ticket);
  // Finishes the batches that the device has completed; those up to `known` are known to be. The
  // driver is asked about the others only if `asks`: else some of them may be left.
  void reap(uint64_t known, bool asks);
  bool is_over(const Pending& front, uint64_t known, bool asks);
  bool has_reported(const Pending& pending) const;
  void finish(Pending* front);

  CudaDevice& device_;
  Context& context_;
  StreamHandle handle_ = nullptr;
  std::atomic<uint32_t>* progress_ =
      nullptr;  // in pinned memory: the last launch of completed batches
  std::unique_ptr<LaunchLog> log_;

  std::mutex submit_mutex_;          // taken before pending_mutex_
  std::atomic<uint64_t> in_use_{0};  // the last ticket issued

  std::mutex pending_mutex_;
  std::condition_variable submitted_changed_;
  std::deque<Pending> pending_;         // guarded by pending_mutex_
  std::vector<FailureRef> failures_;    // guarded by pending_mutex_
  std::atomic<uint64_t> submitted_{0};  // written under pending_mutex_
  std::atomic<uint64_t> completed_{0};  // written under pending_mutex_
};

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_CUDA_STREAM_H_
