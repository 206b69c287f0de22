// Where submitted work runs, in order. Made for a device that runs beside the host: nothing here
// returns a result, only tickets that can be waited for.
#ifndef SLUICE_RUNTIME_STREAM_H_
#define SLUICE_RUNTIME_STREAM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "sluice/runtime/buffer.h"
#include "sluice/runtime/device.h"

namespace sluice::runtime {

// The kernels, library calls and copies of one flush, with everything they are bound to. A batch
// outlives its execution: the stream destroys it when it is done.
class CommandBatch {
 public:
  virtual ~CommandBatch() = default;

  // Executes on the CPU / enqueues on the stream of a device. Called once, in submission order,
  // after all of waits_for() are done. Failures go to the buffers concerned and to failures().
  virtual void run() = 0;

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

// A new stream on `device`; it lives until its owner destroys it, after its work is done.
std::unique_ptr<Stream> make_stream(Device device);

inline void wait(const Event& event) {
  if (event.stream != nullptr) event.stream->wait(event.ticket);
}

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_STREAM_H_
