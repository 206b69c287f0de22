#include "runtime/cuda/event_pool.h"

#include <utility>

namespace sluice::runtime::cuda {

EventPool::~EventPool() {
  const CurrentContext current(context_);
  for (EventHandle event : idle_) context_->driver().event_destroy(event);
}

absl::StatusOr<EventRef> EventPool::take() {
  EventHandle event = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      event = idle_.back();
      idle_.pop_back();
    }
  }
  if (event == nullptr) {
    const absl::Status status = context_->call<&Driver::event_create>(&event, flags_);
    if (!status.ok()) return status;
  }
  return EventRef(event, [this](EventHandle back) {
    std::lock_guard lock(mutex_);
    idle_.push_back(back);
  });
}

absl::StatusOr<EventRef> EventPool::record(StreamHandle stream) {
  absl::StatusOr<EventRef> event = take();
  if (!event.ok()) return event;
  const absl::Status status = context_->call<&Driver::event_record>(event->get(), stream);
  if (!status.ok()) return status;
  return event;
}

}  // namespace sluice::runtime::cuda
