// One flush, from its begin until its batch is done, as the recorder keeps it.
#ifndef SLUICE_ENGINE_OBSERVE_FLUSH_RECORD_H_
#define SLUICE_ENGINE_OBSERVE_FLUSH_RECORD_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/describe/graph_description.h"
#include "engine/observe/flush_observer.h"
#include "engine/observe/trace/trace_clock.h"
#include "trace/trace.h"

namespace sluice::engine {

class FlushRecord : public FlushObserver, public std::enable_shared_from_this<FlushRecord> {
 public:
  // The first of its ops was recorded at `begin`, on the thread of `lane`, which is called
  // `thread`. Another thread may flush them.
  FlushRecord(FlushCause cause, const Node* target, runtime::Stream* stream, const Lane& lane,
              int thread, int64_t begin);

  FlushStage enter(FlushStage stage) override;
  void planned(const Window& planned_window, std::shared_ptr<const ReadyPlan> plan,
               bool is_hit) override;
  void submitted(bool has_work) override;
  void finished(std::vector<kernels::StepTime> step_times) override;

  // All but graph and steps. Written by the flushing thread until it is kept.
  trace::Window window;
  std::shared_ptr<GraphDescription> description;
  // The event that the window's results carry.
  runtime::Event written;

  // When it was flushed, by the host's clock.
  const HostTime flushed;
  // How long the recorder had delayed what this flush submits: to be taken off the host's clock's
  // times of it.
  std::chrono::nanoseconds delay;

  // Guarded by the recorder's mutex. It is kept and finished in either order.
  std::vector<kernels::StepTime> times;
  bool is_kept = false;
  bool is_finished = false;

 private:
  const int64_t values_evicted_, bytes_evicted_;  // by all of the process before
  runtime::Stream* const stream_;
  const std::chrono::nanoseconds flusher_delay_;  // of the flushing thread, when the flush began
  FlushStage stage_ = FlushStage::kOther;
  int64_t entered_ = 0;  // when, by the flushing thread's clock
  std::array<int64_t, kNumFlushStages> durations_{};
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_OBSERVE_FLUSH_RECORD_H_
