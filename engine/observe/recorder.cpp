#include "engine/observe/recorder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/describe/wording.h"
#include "engine/observe/assembly.h"
#include "engine/observe/counters.h"
#include "engine/observe/debug.h"
#include "engine/observe/names.h"
#include "engine/observe/trace/trace_file.h"

namespace sluice::engine {
namespace {

// Code of kernels may be made for so long, however short the program was.
constexpr std::chrono::seconds kLeastCodeTime{1};

// Here, as every program that uses the engine has this file.
[[maybe_unused]] const bool started_by_environment = start_by_environment();

}  // namespace

std::shared_ptr<FlushObserver> observe_flush(FlushCause cause, const Node* target,
                                             runtime::Stream* stream) {
  return Recorder::get().begin_flush(cause, target, stream);
}

void note_first_op(const runtime::Stream* stream) { Recorder::get().note_first_op(stream); }

Recorder& Recorder::get() {
  static Recorder* recorder = new Recorder;
  return *recorder;
}

void Recorder::start() {
  std::lock_guard lock(mutex_);
  windows_.clear();
  descriptions_.clear();
  provenance_.clear();
  kernels_.clear();
  for (auto& [stream, pending] : pending_) pending.begin = 0;
  NodeNames::get().forget_all();
  TraceClock::restart();
  trace_is_recording.store(true, std::memory_order_relaxed);
}

void Recorder::stop() {
  std::lock_guard lock(mutex_);
  time_recorded_ = time_recorded();
  trace_is_recording.store(debug_level() > 0, std::memory_order_relaxed);
}

std::chrono::nanoseconds Recorder::time_recorded() {
  return is_recording() ? TraceClock::since_restart() : time_recorded_;
}

void Recorder::note_first_op(const runtime::Stream* stream) {
  Lane& lane = Lane::current();
  std::lock_guard lock(mutex_);
  pending_[stream] = {&lane, lane.number(), TraceClock::now(lane)};
}

void Recorder::note_copy(const Node& copy, Device from, const Origin& origin) {
  const RecorderWork work;
  std::lock_guard lock(mutex_);
  provenance_.add_copy(copy, absl::StrCat("was copied from ", to_string(from), " to ",
                                          to_string(copy.device), at_place(origin)));
}

std::shared_ptr<FlushRecord> Recorder::begin_flush(FlushCause cause, const Node* target,
                                                   runtime::Stream* stream) {
  const RecorderWork work;
  Pending pending;
  {
    std::lock_guard lock(mutex_);
    pending = pending_[stream];
  }
  // Without a lane, the ops were recorded before the trace began.
  const Lane& lane = pending.lane == nullptr ? Lane::current() : *pending.lane;
  return std::make_shared<FlushRecord>(cause, target, stream, lane, pending.thread, pending.begin);
}

std::shared_ptr<GraphDescription> Recorder::find_description(
    const Window& window, std::shared_ptr<const ReadyPlan> plan) {
  std::lock_guard lock(mutex_);
  return descriptions_.find(window, std::move(plan), provenance_.of(window));
}

void Recorder::keep(const std::shared_ptr<FlushRecord>& record, bool has_work) {
  {
    std::lock_guard lock(mutex_);
    record->is_kept = true;
    record->is_finished |= !has_work;
    if (has_work) provenance_.add_window(record->written, record->window.cause_text);
    windows_.add(record);
    // From now on, what is left in the queue is the next window.
    Pending& pending = pending_[record->written.stream];
    if (pending.lane != nullptr) pending.begin = TraceClock::now(*pending.lane);
  }
  if (debug_level() > 0) print_if_complete(record);
}

void Recorder::finish(const std::shared_ptr<FlushRecord>& record,
                      std::vector<kernels::StepTime> times) {
  {
    std::lock_guard lock(mutex_);
    record->times = std::move(times);
    record->is_finished = true;
    const GraphDescription& graph = *record->description;
    for (size_t s = 0; s < record->times.size(); ++s) {
      totals_.add(graph.steps()[s], graph.device(), record->times[s]);
    }
  }
  if (debug_level() > 0) print_if_complete(record);
}

void Recorder::print_if_complete(const std::shared_ptr<FlushRecord>& record) {
  std::unique_lock lock(mutex_);
  if (!record->is_kept || !record->is_finished) return;
  const bool with_kernels =
      debug_level() >= 4 && !std::exchange(record->description->is_printed, true);
  Assembly assembly({&record, 1}, descriptions_.sites());
  const auto code_time = std::max<std::chrono::nanoseconds>(kLeastCodeTime, time_recorded());
  lock.unlock();
  assembly.describe_graphs();
  if (with_kernels) assembly.describe_kernels(&kernels_, code_time);
  print_window(assembly.take());
}

trace::Trace Recorder::snapshot(bool with_code) {
  std::unique_lock lock(mutex_);
  Assembly assembly(windows_.all(), descriptions_.sites());
  const int64_t windows_recorded = windows_.recorded();
  const auto code_time = std::max<std::chrono::nanoseconds>(kLeastCodeTime, time_recorded());
  lock.unlock();
  assembly.describe_graphs();
  assembly.describe_kernels(&kernels_, with_code ? code_time : std::chrono::nanoseconds(0));
  trace::Trace trace = assembly.take();
  trace.windows_recorded = windows_recorded;
  return trace;
}

int64_t Recorder::windows_recorded() {
  std::lock_guard lock(mutex_);
  return windows_.recorded();
}

std::vector<KernelStats> Recorder::kernel_stats() {
  std::lock_guard lock(mutex_);
  return totals_.all();
}

void Recorder::reset_kernel_stats() {
  std::lock_guard lock(mutex_);
  totals_.clear();
}

}  // namespace sluice::engine
