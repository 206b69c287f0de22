// Where submitted work runs, in order. Made for a device that runs beside the host: nothing here
// returns a result, only tickets that can be waited for.
#ifndef SLUICE_RUNTIME_STREAM_H_
#define SLUICE_RUNTIME_STREAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/buffer.h"

namespace sluice::runtime {

// The kernels, library calls and copies of one flush, with everything they are bound to. Its life:
// run(); then, when all that run() did or enqueued is over, finish(); then its ticket is done, and
// the stream destroys it. If a device does not get that far, fail() comes in place of finish(), and
// in place of run() if that has not been called yet. Failures go to the buffers concerned and to
// failures().
class CommandBatch {
 public:
  virtual ~CommandBatch() = default;

  // Executes on the CPU, on a thread of the stream's choice and after all of waits_for() are done;
  // enqueues on the stream of a device that runs beside the host, on the submitting thread. In the
  // order of tickets. Must keep alive what the device still reads or writes, except what the
  // stream's order protects.
  virtual void run() = 0;

  // What the host has to do with the results: an error slot to look at. In the order of tickets, on
  // any thread, and perhaps with the stream locked: must not call it.
  virtual void finish() {}

  // Nothing that the batch was to write can be had. Must not call the stream either.
  virtual void fail(const FailureRef& failure) = 0;

  // What messages call it.
  virtual std::string label() const = 0;

  // A rough number of nanoseconds of device time: decides whether a thread hand-off pays.
  virtual double cost() const = 0;

  const std::vector<Event>& waits_for() const { return waits_for_; }
  const std::vector<FailureRef>& failures() const { return failures_; }

 protected:
  std::vector<Event> waits_for_;  // of other streams
  std::vector<FailureRef> failures_;
};

enum class SubmitMode : uint8_t {
  kDetached,     // the caller goes on with other work
  kCallerWaits,  // the caller is about to wait for this very batch
};

class Stream {
 public:
  virtual ~Stream() = default;

  // Takes the batch and returns its ticket. Tickets grow by one from 1. Thread-safe.
  virtual uint64_t submit(std::unique_ptr<CommandBatch> batch, SubmitMode mode) = 0;
  // The ticket of the next submission, for the buffers that it will write.
  virtual uint64_t next_ticket() const = 0;
  // Returns once everything up to `ticket` is done. Must not be called from a batch of this stream.
  virtual void wait(uint64_t ticket) = 0;
  virtual bool done(uint64_t ticket) const = 0;
  // Takes the failures of finished batches that have not been taken yet.
  virtual std::vector<FailureRef> take_failures() = 0;
};

inline void wait(const Event& event) {
  if (event.stream != nullptr) event.stream->wait(event.ticket);
}

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_STREAM_H_
