// Events of one device. Creating one costs more than using it, so they are kept and used again.
#ifndef SLUICE_RUNTIME_CUDA_EVENT_POOL_H_
#define SLUICE_RUNTIME_CUDA_EVENT_POOL_H_

#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cuda/driver/context.h"

namespace sluice::runtime::cuda {

// An event that nobody else records while it is held; its last reference gives it back.
using EventRef = std::shared_ptr<EventObject>;

// Thread-safe.
class EventPool {
 public:
  // `flags`: as cuEventCreate takes them.
  EventPool(Context* context, unsigned flags) : context_(context), flags_(flags) {}
  ~EventPool();  // all events are back
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  // An event that has been recorded on `stream`; the context is current.
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
