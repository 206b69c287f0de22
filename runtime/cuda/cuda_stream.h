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

// submit() enqueues on the calling thread, with the device's context current, and returns; a
// batch's waits_for() become waits of the device where they are tickets of CUDA streams, on
// whatever device, else waits of the caller. When the device is poisoned, every batch that is not
// known to be done fails with the device's failure and counts as done. A stream outlives the
// batches that wait for its tickets. Thread-safe.
class CudaStream : public Stream {
 public:
  static absl::StatusOr<std::unique_ptr<CudaStream>> make(CudaDevice* device);
  ~CudaStream() override;  // waits for its work

  uint64_t submit(std::unique_ptr<CommandBatch> batch, SubmitMode mode) override;
  uint64_t next_ticket() const override;
  void wait(uint64_t ticket) override;
  bool done(uint64_t ticket) const override;
  std::vector<FailureRef> take_failures() override;

  // done() without asking the device: whether the host has seen it already.
  bool known_done(uint64_t ticket) const {
    return completed_.load(std::memory_order_acquire) >= ticket;
  }
  // The last ticket that may use memory which this stream's work lets go of now.
  uint64_t ticket_in_use() const { return in_use_.load(std::memory_order_acquire); }

  // For the run() of this stream's batches. All of it counts as work of the batch.

  // Runs `call`, which enqueues work on handle(). `label` says in messages what it is for. Waits
  // for the work if the context is synchronous. A failure is ascribed to the label.
  absl::Status enqueue(absl::string_view label, absl::FunctionRef<absl::Status()> call);
  absl::Status launch(const KernelLaunch& kernel, absl::string_view label);
  // An event that is done when all that is enqueued so far is; null if that had to be waited for.
  EventRef mark_end();
  // Makes what is enqueued next wait for `event`.
  absl::Status wait_for(const Event& event);

  StreamHandle handle() const { return handle_; }
  CudaDevice& device() const { return device_; }

 private:
  struct Pending {
    uint64_t ticket = 0;
    std::unique_ptr<CommandBatch> batch;
    EventRef end;  // of its work; null if that is done, or if there is none
    uint64_t last_launch = 0;
    FailureRef failure;        // it could not run
    std::vector<Event> after;  // whose own finish() comes before this one's
  };

  explicit CudaStream(CudaDevice* device);
  absl::Status open();
  void run(Pending* pending);
  // An event that is done when everything up to `ticket` is, once that has been submitted; null if
  // it is done now.
  EventRef end_of(uint64_t ticket);
  // Finishes the batches that the device has done; it is known to have done those up to `known`.
  void reap(uint64_t known);
  bool is_over(const Pending& front, uint64_t known);
  void finish(Pending* front);

  CudaDevice& device_;
  Context& context_;
  StreamHandle handle_ = nullptr;
  std::atomic<uint32_t>* progress_ = nullptr;  // in pinned memory: the last launch of done batches
  std::unique_ptr<LaunchLog> log_;

  std::mutex submit_mutex_;          // taken before pending_mutex_
  std::atomic<uint64_t> in_use_{0};  // the last ticket that was given out

  std::mutex pending_mutex_;
  std::condition_variable submitted_changed_;
  std::deque<Pending> pending_;         // guarded by pending_mutex_
  std::vector<FailureRef> failures_;    // guarded by pending_mutex_
  std::atomic<uint64_t> submitted_{0};  // changes under pending_mutex_
  std::atomic<uint64_t> completed_{0};  // changes under pending_mutex_
};

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_CUDA_STREAM_H_
