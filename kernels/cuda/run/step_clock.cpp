#include "kernels/cuda/run/step_clock.h"

#include <utility>

#include "runtime/cuda/cuda_device.h"

namespace sluice::kernels::cuda {

using runtime::cuda::Driver;
using runtime::cuda::EventRef;

void StepClock::mark() {
  if (marks_.empty()) start_ = std::chrono::steady_clock::now();
  absl::StatusOr<EventRef> event = stream_.device().timing_events().record(stream_.handle());
  is_complete_ &= event.ok();
  if (is_complete_) marks_.push_back(*std::move(event));
}

std::vector<StepTime> StepClock::times() const {
  if (!is_complete_ || marks_.empty()) return {};
  runtime::cuda::Context& context = stream_.device().context();
  const runtime::cuda::CurrentContext current(&context);
  std::vector<StepTime> times;
  std::chrono::duration<double, std::milli> at{0};
  for (size_t i = 1; i < marks_.size(); ++i) {
    float milliseconds = 0;
    const absl::Status status = context.call<&Driver::event_elapsed_time>(
        &milliseconds, marks_[i - 1].get(), marks_[i].get());
    if (!status.ok()) return {};
    const std::chrono::duration<double, std::milli> duration(milliseconds);
    StepTime& time = times.emplace_back();
    time.begin = start_ + std::chrono::duration_cast<std::chrono::nanoseconds>(at);
    time.duration = std::chrono::duration_cast<std::chrono::nanoseconds>(duration);
    at += duration;
  }
  return times;
}

}  // namespace sluice::kernels::cuda
