// A pool of one device's events, since creating one costs more than recording it.
#ifndef SLUICE_RUNTIME_CUDA_EVENT_POOL_H_
#define SLUICE_RUNTIME_CUDA_EVENT_POOL_H_

#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cuda/driver/context.h"

namespace sluice::runtime::cuda {

// An event that nobody else records; the last reference returns it to the pool.
using EventRef = std::shared_ptr<EventObject>;

// Thread-safe.
class EventPool {
 public:
  // `flags`: those of cuEventCreate.
  EventPool(Context* context, unsigned flags) : context_(context), flags_(flags) {}
  ~EventPool();  // all events must have been returned
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  // Records an event on `stream`. The context must be current.
  absl::StatusOr<EventRef> record(StreamHandle stream);

 private:
  absl::StatusOr<EventRef> take();

  Context* const context_;
  const unsigned flags_;
  std::mutex mutex_;
  std::vector<EventHandle> idle_;  // guarded by mutex_
};

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_EVENT_POOL_H_
