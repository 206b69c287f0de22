// In-order execution of submitted work. Designed for asynchronous devices: no call returns a
// result, only tickets to wait for.
#ifndef SLUICE_RUNTIME_STREAM_H_
#define SLUICE_RUNTIME_STREAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/memory/buffer.h"

namespace sluice::runtime {

// The kernels, library calls and copies of one flush, with all their arguments. The stream calls
// run(), then finish() once everything that run() executed or enqueued is complete; then the ticket
// is done and the stream destroys the batch. If the device fails first, fail() is called instead of
// finish(), and instead of run() if that has not been called. Failures are recorded on the affected
// buffers and in failures().
class CommandBatch {
 public:
  virtual ~CommandBatch() = default;

  // On a CPU stream: executes the work, on a thread of the stream's choice, after waits_for(). On
  // an asynchronous device: enqueues the work, on the submitting thread. Called in ticket order.
  // Must keep alive what the device still reads or writes, except what stream order protects.
  virtual void run() = 0;

  // Host work on the results, such as checking error slots. Called in ticket order on any thread.
  // Must not call the stream, which may be locked.
  virtual void finish() {}

  // Fails everything that the batch was to write. Must not call the stream either.
  virtual void fail(const FailureRef& failure) = 0;

  // The name of the batch in messages.
  virtual std::string label() const = 0;

  // Estimated device time in nanoseconds; decides whether a thread hand-off pays.
  virtual double cost() const = 0;

  const std::vector<Event>& waits_for() const { return waits_for_; }
  const std::vector<FailureRef>& failures() const { return failures_; }

 protected:
  std::vector<Event> waits_for_;  // of other streams
  std::vector<FailureRef> failures_;
};

enum class SubmitMode : uint8_t {
  kDetached,     // the caller continues with other work
  kCallerWaits,  // the caller is about to wait for this batch
};

class Stream {
 public:
  virtual ~Stream() = default;

  // Submits the batch and returns its ticket: 1, 2, ... Thread-safe.
  virtual uint64_t submit(std::unique_ptr<CommandBatch> batch, SubmitMode mode) = 0;
  // The ticket of the next submission, for marking the buffers that it will write.
  virtual uint64_t next_ticket() const = 0;
  // Blocks until everything up to `ticket` is done. Must not be called from this stream's batches.
  virtual void wait(uint64_t ticket) = 0;
  virtual bool done(uint64_t ticket) const = 0;
  // Removes and returns the failures of finished batches.
  virtual std::vector<FailureRef> take_failures() = 0;
};

inline void wait(const Event& event) {
  if (event.stream != nullptr) event.stream->wait(event.ticket);
}

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_STREAM_H_
