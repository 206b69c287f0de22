#include "engine/record/queue.h"

#include <mutex>
#include <string>
#include <utility>

#include <sluice/error.h>
#include "absl/strings/str_cat.h"
#include "engine/observe/counters.h"
#include "engine/observe/names.h"
#include "engine/record/node_slab.h"
#include "engine/record/queue_append.h"
#include "engine/run/scheduler.h"
#include "engine/validate/validate.h"

namespace sluice::engine {
namespace {

// Batches that a stream may be behind: bounds the memory that work under way holds.
constexpr uint64_t kMaxBatchesBehind = 4;

// Bytes of inputs and results that are worth computing while the host is busy elsewhere.
constexpr int64_t kWorthStarting = 1 << 20;

std::unique_ptr<runtime::Stream> make_stream(runtime::Backend& backend) {
  absl::StatusOr<std::unique_ptr<runtime::Stream>> stream = backend.make_stream();
  if (!stream.ok()) throw Error(stream.status());
  return *std::move(stream);
}

// A node leaves the queue, which gives up its pin.
void let_go(Node* node) {
  if (node->has_handles()) node->queue.store(nullptr, std::memory_order_release);
  drop_pin(node);
}

}  // namespace

const char* name_of(FlushCause cause) {
  constexpr const char* kNames[] = {"read",        "eval", "flush",       "sync",
                                    "op budget",   "loop", "byte budget", "other thread",
                                    "idle device", "copy"};
  return kNames[static_cast<int>(cause)];
}

Queue::Queue(Device device)
    : settings_(config()),
      device_(device),
      backend_(runtime::backend(device)),
      stream_(make_stream(backend_)) {}

NodeRef Queue::append(const OpCall& call) { return append_inline(call, call.operands.size()); }

void Queue::count_alias() {
  count_recorded();
  count(counters().ops_executed);
}

void Queue::bring_from(Queue* other, Node* operand) {
  // The queue lets go of a node only after it has been submitted.
  if (other != nullptr) {
    other->flush_for(operand, FlushCause::kOtherThread, runtime::SubmitMode::kDetached);
  }
}

void Queue::flush_before_last() {
  run(FlushCause::kLoop, runtime::SubmitMode::kDetached, {.end = pending_.size() - 1});
}

void Queue::flush_full() {
  FlushCause cause = FlushCause::kOps;
  if (aligner_.is_due()) {
    cause = FlushCause::kLoop;
  } else if (static_cast<int64_t>(pending_.size()) < settings_.window_ops) {
    bytes_since_scan_ = live_bytes();
    if (bytes_since_scan_ <= settings_.max_pending_bytes / 2) return;
    cause = FlushCause::kBytes;
  }
  run(cause, runtime::SubmitMode::kDetached, {.end = aligner_.cut(pending_)});
}

int64_t Queue::live_bytes() const {
  int64_t bytes = 0;
  for (size_t i = 0; i < pending_.size(); ++i) {
    if (pending_.node(i)->has_handles()) bytes += pending_.node(i)->bytes();
  }
  return bytes;
}

void Queue::flush(FlushCause cause, runtime::SubmitMode mode) {
  std::lock_guard lock(mutex_);
  aligner_.forget();
  run(cause, mode, {});
}

void Queue::flush_for(Node* target, FlushCause cause, runtime::SubmitMode mode) {
  std::lock_guard lock(mutex_);
  if (target->submitted() || target->queue.load(std::memory_order_relaxed) != this) return;
  aligner_.forget();
  run(cause, mode, {.target = target});
}

// Less is done in the time that starting it by itself takes.
bool Queue::is_worth_starting() const {
  int64_t bytes = 0;
  for (const Node* input : pending_.inputs()) bytes += input->bytes();
  for (size_t i = 0; i < pending_.size(); ++i) bytes += pending_.node(i)->bytes();
  return bytes >= kWorthStarting;
}

// Where the host is the device, work that starts while the host is busy is in its way: a second
// OpenMP team alone makes small parallel loops three times slower from then on.
bool Queue::starts_by_itself() const {
  return device_.type() != DeviceType::kCpu && !settings_.deterministic;
}

bool Queue::start_if_idle() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  // Settings may change while nothing is pending.
  if (pending_.empty() || !starts_by_itself() || !is_worth_starting()) return true;
  if (!stream_->done(stream_->next_ticket() - 1)) return false;
  try {
    aligner_.forget();
    run(FlushCause::kIdle, runtime::SubmitMode::kDetached, {});
  } catch (const Error&) {
    // Nothing has changed: the ops are still pending.
  }
  return true;
}

void Queue::run(FlushCause cause, runtime::SubmitMode mode, Choice choice) {
  if (pending_.empty()) return;
  std::shared_ptr<FlushRecord> record;
  if (is_recording()) [[unlikely]]
    record = begin_record(cause, choice);
  if (is_whole(choice)) {
    run_all(record, mode);
  } else {
    mark(choice);
    run_marked(record, mode);
  }
  bytes_since_scan_ = live_bytes();
  if (record != nullptr) first_recorded_ = TraceClock::now();  // of what is left
  const uint64_t last = stream_->next_ticket() - 1;
  if (last > kMaxBatchesBehind) stream_->wait(last - kMaxBatchesBehind);
}

// True if all ops are to run: what has handles is chosen, and what has none is read by a later op
// (which has a handle or is read, and so on to the last). Sets live_: what is to be there
// afterwards.
bool Queue::is_whole(Choice choice) {
  const size_t n = pending_.size();
  if (choice.end < n) return false;
  live_.assign((n + 63) / 64, 0);
  for (size_t i = 0; i < n; ++i) {
    if (pending_.node(i)->has_handles()) {
      if (choice.target != nullptr && choice.target != pending_.node(i)) return false;
      live_[i / 64] |= uint64_t{1} << i % 64;
    } else if (!pending_.is_read(i)) {
      return false;
    }
  }
  return true;
}

// Sets marks_: what is to run, and what of that has to be there afterwards; and what stays.
void Queue::mark(Choice choice) {
  const size_t n = pending_.size();
  marks_.assign(n, kUnmarked);
  for (size_t i = n; i-- > 0;) {
    const bool has_handles = pending_.node(i)->has_handles();
    const bool is_chosen = choice.target == nullptr ? has_handles && i < choice.end
                                                    : pending_.node(i) == choice.target;
    uint8_t& mark = marks_[i];
    const bool is_needed = is_chosen || (mark & kNeeded) != 0;
    const bool is_asked_for_later = has_handles || (mark & kRemains) != 0;
    if (!is_needed && !is_asked_for_later) continue;
    const Mark passed_on = is_needed ? kNeeded : kRemains;
    mark = is_needed && is_asked_for_later ? kNeeded | kLive : passed_on;
    pending_.for_each_op_read(i, [&](size_t k) { marks_[k] |= passed_on; });
  }
}

void Queue::run_all(const std::shared_ptr<FlushRecord>& record, runtime::SubmitMode mode) {
  std::shared_ptr<const ReadyPlan> plan = find_plan(record.get(), &pending_);
  submit(pending_, std::move(plan), &backend_, stream_.get(), mode, record);
  for (size_t i = 0; i < pending_.size(); ++i) let_go(pending_.node(i));
  pending_.clear();
}

// What is needed runs as a window of its own; what remains becomes the pending window.
void Queue::run_marked(const std::shared_ptr<FlushRecord>& record, runtime::SubmitMode mode) {
  const size_t n = pending_.size();
  chosen_.clear();
  remaining_.clear();
  pending_.copy_to(&chosen_, marks_, kNeeded);
  live_.assign((chosen_.size() + 63) / 64, 0);
  for (size_t i = 0; i < n; ++i) {
    const size_t position = pending_.node(i)->position;  // in chosen_, if it is there
    if ((marks_[i] & kLive) != 0) live_[position / 64] |= uint64_t{1} << position % 64;
  }
  std::shared_ptr<const ReadyPlan> plan;
  if (!chosen_.empty()) {
    try {
      plan = find_plan(record.get(), &chosen_);
    } catch (...) {
      for (size_t i = 0; i < n; ++i) pending_.node(i)->position = static_cast<uint32_t>(i);
      chosen_.clear();
      throw;
    }
  }
  // Inputs that only the chosen ops read are theirs to work in.
  std::vector<Node*> read_later;
  for (size_t i = 0; i < n; ++i) {
    if ((marks_[i] & kRemains) == 0) continue;
    pending_.for_each_input_read(i, [&](Node* input) {
      input->add(Node::kPin);
      read_later.push_back(input);
    });
  }
  pending_.unpin_inputs();
  if (plan != nullptr) submit(chosen_, std::move(plan), &backend_, stream_.get(), mode, record);
  pending_.copy_to(&remaining_, marks_, kRemains);
  for (Node* input : read_later) drop_pin(input);
  for (size_t i = 0; i < n; ++i) {
    if ((marks_[i] & kRemains) == 0) let_go(pending_.node(i));
  }
  chosen_.clear();
  pending_.clear();
  pending_.swap(remaining_);
}

// Of a window whose values to keep are in live_.
std::shared_ptr<const ReadyPlan> Queue::find_plan(FlushRecord* record, Window* window) {
  const PlanMode mode{settings_.fuse, settings_.fast_math};
  StageTimer timer(record == nullptr ? nullptr : &record->window.plan_duration);
  window->complete(live_, mode);
  std::shared_ptr<const ReadyPlan> plan = plans_.find(window->signature());
  const bool hit = plan != nullptr;
  count(hit ? counters().plan_hits : counters().plan_misses);
  if (!hit) {
    plan = prepare(window->to_graph(), mode, device_, record);
    plans_.insert(window->signature(), plan, settings_.plan_cache_entries);
  }
  timer.stop();
  if (settings_.validate != Validate::kOff) [[unlikely]]
    validate(*window, plan, &backend_, stream_.get(), settings_.validate);
  if (record != nullptr) {
    record->window.plan_duration -= record->window.compile_duration;  // a part of it
    const StageTimer describing(&record->window.plan_duration);
    record->window.plan_hit = hit;
    Recorder::get().describe(record, *window, plan, {stream_.get(), stream_->next_ticket()});
  }
  return plan;
}

// ---- For the trace.

void Queue::note_origin(const Node* node) {
  std::lock_guard lock(mutex_);
  if (node->submitted() || node->queue.load(std::memory_order_relaxed) != this) return;
  pending_.set_origin(node->position, current_origin());
  if (node->position > 0) return;
  first_recorded_ = TraceClock::now();
  thread_ = thread_number();
}

std::shared_ptr<FlushRecord> Queue::begin_record(FlushCause cause, Choice choice) const {
  return Recorder::get().begin_flush(name_of(cause), explain(cause, choice), first_recorded_,
                                     thread_);
}

std::string Queue::explain(FlushCause cause, Choice choice) const {
  // Of the call that is under way, if it is one of the program's.
  const std::string place = place_of(current_origin());
  const std::string at = place.empty() ? "" : absl::StrCat(" at ", place);
  const auto target = [&] {
    const std::string name(NodeNames::get().text(choice.target));
    const std::string type =
        absl::StrCat(name_of(choice.target->dtype), to_string(choice.target->layout.shape));
    return name.empty() ? absl::StrCat("a ", type) : absl::StrCat("`", name, "`, a ", type, ",");
  };
  switch (cause) {
    case FlushCause::kRead: return absl::StrCat(target(), " was read", at);
    case FlushCause::kEval: return absl::StrCat("eval() was called on ", target(), at);
    case FlushCause::kFlush: return absl::StrCat("flush() was called", at);
    case FlushCause::kSync: return absl::StrCat("sync() was called", at);
    case FlushCause::kOps:
      return absl::StrCat(settings_.window_ops, " ops were pending (Config::window_ops)");
    case FlushCause::kLoop: return "the ops began to repeat: it ends where a loop's body does";
    case FlushCause::kBytes:
      return absl::StrCat("what is pending would take more than ", settings_.max_pending_bytes,
                          " bytes (Config::max_pending_bytes)");
    case FlushCause::kOtherThread:
      return absl::StrCat(target(), " was needed by another thread", at);
    case FlushCause::kIdle: break;
    case FlushCause::kCopy: return absl::StrCat(target(), " was copied to another device", at);
  }
  return "the device was idle and the host recorded nothing for a while";
}

}  // namespace sluice::engine
