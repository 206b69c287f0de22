#include "engine/observe/flush_record.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "engine/describe/wording.h"
#include "engine/observe/counters.h"
#include "engine/observe/recorder.h"

namespace sluice::engine {

FlushRecord::FlushRecord(FlushCause cause, const Node* target, runtime::Stream* stream,
                         const Lane& lane, int thread, int64_t begin)
    : flushed(TraceClock::host_time()),
      delay(lane.recorder_time()),
      values_evicted_(counters().values_evicted),
      bytes_evicted_(counters().bytes_evicted),
      stream_(stream),
      flusher_delay_(Lane::current().recorder_time()) {
  window.cause = name_of(cause);
  window.cause_text = explain(cause, target, current_origin());
  window.thread = thread;
  window.flushed = TraceClock::now(lane);
  window.begin = std::min(begin, window.flushed);
}

FlushStage FlushRecord::enter(FlushStage stage) {
  const Lane& flusher = Lane::current();
  const int64_t now = TraceClock::now(flusher);
  durations_[static_cast<int>(stage_)] += std::max<int64_t>(0, now - entered_);
  entered_ = now;
  // Not later: small work runs, and is recorded, within the stage.
  if (stage == FlushStage::kSubmit) delay += flusher.recorder_time() - flusher_delay_;
  return std::exchange(stage_, stage);
}

void FlushRecord::planned(const Window& planned_window, std::shared_ptr<const ReadyPlan> plan,
                          bool is_hit) {
  const RecorderWork work;
  window.plan_hit = is_hit;
  written = {stream_, stream_->next_ticket()};
  description = Recorder::get().find_description(planned_window, std::move(plan));
}

void FlushRecord::submitted(bool has_work) {
  const RecorderWork work;
  const auto duration_of = [&](FlushStage stage) { return durations_[static_cast<int>(stage)]; };
  window.plan_duration = duration_of(FlushStage::kPlan);
  window.compile_duration = duration_of(FlushStage::kCompile);
  window.bind_duration = duration_of(FlushStage::kBind);
  window.submit_duration = duration_of(FlushStage::kSubmit);
  // What other threads do meanwhile is counted here as well.
  const Counters& now = counters();
  window.values_evicted = now.values_evicted - values_evicted_;
  window.bytes_evicted = now.bytes_evicted - bytes_evicted_;
  static std::atomic<int64_t> recomputed_before{0};
  const int64_t recomputed = now.values_recomputed;
  window.values_recomputed =
      std::max<int64_t>(0, recomputed - recomputed_before.exchange(recomputed));
  Recorder::get().keep(shared_from_this(), has_work);
}

void FlushRecord::finished(std::vector<kernels::StepTime> step_times) {
  const RecorderWork work;
  Recorder::get().finish(shared_from_this(), std::move(step_times));
}

}  // namespace sluice::engine
