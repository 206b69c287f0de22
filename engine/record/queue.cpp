#include "engine/record/queue.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <sluice/error.h>
#include "engine/observe/counters.h"
#include "engine/record/node_slab.h"
#include "engine/record/queue_append.h"
#include "engine/run/fit_to_memory.h"
#include "engine/run/reclaim.h"
#include "engine/run/scheduler.h"
#include "engine/validate/validate.h"
#include "runtime/status_error.h"

namespace sluice::engine {
namespace {

// How many batches a stream may be behind. Bounds the memory that submitted work holds.
constexpr uint64_t kMaxBatchesBehind = 4;

// Of the last ops most handles are temporaries of the statement that is being recorded, or of an
// expression with a name. Stored for their sake alone they may be many times what memory holds:
// what `sum(square(a - b))` adds up is as large as a and b are broadcast.
constexpr size_t kOpsOfStatement = 8;

// One op of so many may be read by nobody, with what is made for it alone, and the window still
// runs as it is.
constexpr size_t kFewUnread = 16;

// A window whose inputs and results have fewer bytes is not started early.
constexpr int64_t kWorthStarting = 1 << 20;

std::unique_ptr<runtime::Stream> make_stream(runtime::Backend& backend) {
  absl::StatusOr<std::unique_ptr<runtime::Stream>> stream = backend.make_stream();
  if (!stream.ok()) throw error_of(stream.status());
  return *std::move(stream);
}

// A node leaves the queue; the queue's pin is dropped.
void let_go(Node* node) {
  if (node->has_handles()) node->queue.store(nullptr, std::memory_order_release);
  drop_pin(node);
}

}  // namespace

Queue::Queue(Device device)
    : settings_(config()),
      device_(device),
      backend_(runtime::backend(device)),
      stream_(make_stream(backend_)),
      shared_plans_(SharedPlanCache::of(device)) {}

NodeRef Queue::append(const OpCall& call) { return append_inline(call, call.operands.size()); }

void Queue::count_alias() {
  count_recorded();
  count(counters().ops_executed);
}

void Queue::bring_from(Queue* other, Node* operand) {
  // A node leaves its queue only after it has been submitted.
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
    cause = FlushCause::kBytes;
    bytes_since_scan_ = live_bytes();
    if (most_bytes_ < settings_.max_pending_bytes) {
      // What gradients need may be given up between windows, but not what a window reads and
      // writes. If it is no more than this, a window of all of a step can be planned to fit.
      constexpr int kMostLive = 3;
      stream_->wait(stream_->next_ticket() - 1);  // what is in flight will be room
      const int64_t room = settings_.memory_limit - backend_.memory_stats().in_use;
      if (is_short() || !is_alone() || bytes_since_scan_ > kMostLive * room) {
        run_in_pieces(cause);
      } else {
        most_bytes_ = std::max(most_bytes_, bytes_since_scan_ + settings_.memory_limit / 2);
      }
      return;
    }
    if (bytes_since_scan_ <= most_bytes_ / 2) return;
  }
  run(cause, runtime::SubmitMode::kDetached, {.end = aligner_.cut(pending_)});
}

// What a short window may compute.
int64_t Queue::short_bytes() const {
  constexpr int kPartOfMemory = 8;
  return settings_.memory_limit / kPartOfMemory;
}

// What would fit now, other threads may want as well: with theirs, windows are short.
void Queue::limit_window() {
  if (!is_alone()) short_under_ = std::max(short_under_, settings_.memory_limit);
  most_bytes_ = std::min(most_bytes_, is_short() ? short_bytes() : settings_.memory_limit);
}

// Runs what is pending in short windows, between which values may be given up, but for the
// statement under way. From now on all windows are short.
void Queue::run_in_pieces(FlushCause cause) {
  if (is_short()) {
    if (pending_.size() <= kOpsOfStatement) return;
    return run(cause, runtime::SubmitMode::kDetached, {.end = pending_.size() - kOpsOfStatement});
  }
  short_under_ = settings_.memory_limit;
  most_bytes_ = std::min(most_bytes_, short_bytes());
  size_t done = 0;  // ops that stay pending for the sake of later ones
  while (done + kOpsOfStatement < pending_.size()) {
    const size_t last = pending_.size() - kOpsOfStatement;
    size_t end = done;
    for (int64_t bytes = 0; end < last && bytes <= short_bytes(); ++end) {
      bytes += pending_.node(end)->bytes();
    }
    const size_t behind = pending_.size() - end;
    run(cause, runtime::SubmitMode::kDetached, {.end = end});
    done = pending_.size() - behind;
  }
}

int64_t Queue::live_bytes() const {
  const size_t settled = pending_.size() - std::min(pending_.size(), kOpsOfStatement);
  int64_t bytes = 0;
  for (size_t i = 0; i < settled; ++i) {
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

// Under the lock: no pending node can go.
Node* Queue::pending_node(const std::atomic<Node*>& weak) const {
  Node* const node = weak.load(std::memory_order_acquire);
  if (node == nullptr || node->submitted()) return nullptr;
  return node->queue.load(std::memory_order_relaxed) == this ? node : nullptr;
}

NodeRef Queue::find_pending(const std::atomic<Node*>& weak) {
  std::lock_guard lock(mutex_);
  Node* const node = pending_node(weak);
  if (node == nullptr) return {};
  node->add(Node::kHandle);
  return NodeRef(node);
}

bool Queue::with_pending_call(const std::atomic<Node*>& weak,
                              absl::FunctionRef<void(const OpCall&)> f) {
  std::lock_guard lock(mutex_);
  const Node* const node = pending_node(weak);
  if (node == nullptr) return false;
  pending_.with_call(node->position, f);
  return true;
}

// Smaller windows are not worth starting early.
bool Queue::is_worth_starting() const {
  int64_t bytes = 0;
  for (const Node* input : pending_.inputs()) bytes += input->bytes();
  for (size_t i = 0; i < pending_.size(); ++i) bytes += pending_.node(i)->bytes();
  return bytes >= kWorthStarting;
}

bool Queue::start_if_idle() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  // Checked here as well, as settings may change while nothing is pending.
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

// What hangs on ops and inputs that nobody can ask for any more, and that go with this flush. An
// entry of the tape may hold the values of earlier ops, which would be stored for its sake, and the
// memory of inputs, which then could not be overwritten.
void Queue::forget_attachments() {
  for (size_t i = pending_.size(); i-- > 0;) {
    Node* const node = pending_.node(i);
    if (!node->has_handles() && node->attachment.load(std::memory_order_relaxed) != nullptr) {
      detach(node);
    }
  }
  for (Node* const input : pending_.inputs()) {
    if (input->attachment.load(std::memory_order_relaxed) != nullptr &&
        input->references.load() == Node::kPin) {
      detach(input);
    }
  }
}

void Queue::run(FlushCause cause, runtime::SubmitMode mode, Choice choice) {
  if (pending_.empty()) return;
  if (choice.target == nullptr && choice.end >= pending_.size()) forget_attachments();
  // Here and not below, as an earlier flush may have thrown.
  observer_ = is_recording() ? observe_flush(cause, choice.target, stream_.get()) : nullptr;
  bool is_done = false;
  if (is_whole(choice)) {
    is_done = run_all(mode);
  } else {
    mark(choice);
    is_done = run_marked(mode);
  }
  if (!is_done) {
    // What the ops that stay would read has to be kept for them: all at once may take less.
    if (choice.target == nullptr) run_in_pieces(FlushCause::kBytes);
    return run(cause, mode, {.end = choice.end});
  }
  bytes_since_scan_ = live_bytes();
  const uint64_t last = stream_->next_ticket() - 1;
  if (last > kMaxBatchesBehind) stream_->wait(last - kMaxBatchesBehind);
}

// True if the window runs as it is: every op with handles is chosen, and nearly every other op is
// read by a later one. What nobody reads is left out by its plan: copying the others would take
// longer than all else that a flush does. Sets live_: the ops whose values outlive the flush.
bool Queue::is_whole(Choice choice) {
  const size_t n = pending_.size();
  if (choice.end < n) return false;
  live_.assign((n + 63) / 64, 0);
  size_t unread = 0;
  for (size_t i = 0; i < n; ++i) {
    if (pending_.node(i)->has_handles()) {
      if (choice.target != nullptr && choice.target != pending_.node(i)) return false;
      live_[i / 64] |= uint64_t{1} << i % 64;
    } else if (!pending_.is_read(i)) {
      ++unread;
    }
  }
  return unread <= n / kFewUnread;
}

// Sets marks_: which ops run (kNeeded), which values outlive the flush (kLive) and which ops stay
// pending (kRemains).
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

// False if there is too little memory for it, and the window may be run in pieces.
bool Queue::run_all(runtime::SubmitMode mode) {
  std::shared_ptr<const ReadyPlan> plan = find_plan(&pending_);
  if (settings_.memory_limit != 0 && !fit(pending_, 1, &plan)) return false;
  if (observer_ != nullptr) [[unlikely]]
    observer_->planned(pending_, plan, is_hit_);
  submit(pending_, std::move(plan), &backend_, stream_.get(), mode, std::move(observer_));
  for (size_t i = 0; i < pending_.size(); ++i) let_go(pending_.node(i));
  pending_.clear();
  return true;
}

// The needed ops run as a window of their own; the others become the pending window. False as
// run_all().
bool Queue::run_marked(runtime::SubmitMode mode) {
  const size_t n = pending_.size();
  chosen_.clear();
  remaining_.clear();
  pending_.copy_to(&chosen_, marks_, kNeeded);
  live_.assign((chosen_.size() + 63) / 64, 0);
  for (size_t i = 0; i < n; ++i) {
    const size_t position = pending_.node(i)->position;  // in chosen_, if it is there
    if ((marks_[i] & kLive) != 0) live_[position / 64] |= uint64_t{1} << position % 64;
  }
  // Inputs that no remaining op reads may be overwritten by the chosen ones.
  std::vector<Node*> read_later;
  const auto leave = [&] {
    for (Node* input : read_later) drop_pin(input);
    for (size_t i = 0; i < n; ++i) pending_.node(i)->position = static_cast<uint32_t>(i);
    chosen_.clear();
  };
  std::shared_ptr<const ReadyPlan> plan;
  for (size_t i = 0; i < n; ++i) {
    if ((marks_[i] & kRemains) == 0) continue;
    pending_.for_each_input_read(i, [&](Node* input) {
      input->add(Node::kPin);
      read_later.push_back(input);
    });
  }
  if (!chosen_.empty()) {
    try {
      plan = find_plan(&chosen_);
      if (settings_.memory_limit != 0 && !fit(chosen_, 2, &plan)) {
        leave();
        return false;
      }
    } catch (...) {
      leave();
      throw;
    }
  }
  pending_.unpin_inputs();
  if (plan != nullptr) {
    if (observer_ != nullptr) [[unlikely]]
      observer_->planned(chosen_, plan, is_hit_);
    submit(chosen_, std::move(plan), &backend_, stream_.get(), mode, std::move(observer_));
  }
  pending_.copy_to(&remaining_, marks_, kRemains);
  for (Node* input : read_later) drop_pin(input);
  for (size_t i = 0; i < n; ++i) {
    if ((marks_[i] & kRemains) == 0) let_go(pending_.node(i));
  }
  chosen_.clear();
  pending_.clear();
  pending_.swap(remaining_);
  return true;
}

PlanMode Queue::mode() const {
  return {settings_.fuse, settings_.fast_math,
          settings_.matmul_precision == MatmulPrecision::kTf32};
}

// The plan of `window`, whose values to keep are in live_.
std::shared_ptr<const ReadyPlan> Queue::find_plan(Window* window) {
  std::shared_ptr<const ReadyPlan> plan;
  is_hit_ = true;
  {
    const StageScope stage(observer_.get(), FlushStage::kPlan);
    window->complete(live_, mode());
    plan = plans_.find(window->signature());
    if (plan == nullptr) {
      const int64_t max_entries = settings_.plan_cache_entries;
      plan = shared_plans_.find_or_make(window->signature(), max_entries, [&] {
        is_hit_ = false;
        return prepare(window->to_graph(), mode(), device_, observer_.get());
      });
      plans_.insert(window->signature(), plan, max_entries);
    }
    count(is_hit_ ? counters().plan_hits : counters().plan_misses);
  }
  if (settings_.validate != Validate::kOff) [[unlikely]]
    validate(*window, plan, &backend_, stream_.get(), settings_.validate);
  return plan;
}

// Under a limit of memory: changes the plan to one that fits. False if there is none, and short
// windows may do better. `pins`: of the window's inputs, by this queue's windows.
bool Queue::fit(const Window& window, uint64_t pins, std::shared_ptr<const ReadyPlan>* plan) {
  FittingPlan fitting = fit_to_memory(window, pins, std::move(*plan), mode(), &backend_,
                                      stream_.get(), observer_.get());
  *plan = std::move(fitting.plan);
  return fitting.fits || is_short() || !can_reclaim() || window.size() <= kOpsOfStatement;
}

void Queue::note_origin(const Node* node) {
  std::lock_guard lock(mutex_);
  if (node->submitted() || node->queue.load(std::memory_order_relaxed) != this) return;
  pending_.set_scope(node->position, call_context.scope);
  if (node->position == 0) note_first_op(stream_.get());
}

}  // namespace sluice::engine
