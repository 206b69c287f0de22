// A queue of pending ops: recorded by one thread for one device, and not run yet.
#ifndef SLUICE_ENGINE_RECORD_QUEUE_H_
#define SLUICE_ENGINE_RECORD_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <sluice/config.h>
#include "absl/types/span.h"
#include "engine/observe/flush_observer.h"
#include "engine/record/flush_cause.h"
#include "engine/record/loop_aligner.h"
#include "engine/record/node.h"
#include "engine/record/queue_mutex.h"
#include "engine/record/window.h"
#include "engine/run/plan_cache.h"
#include "engine/run/shared_plan_cache.h"
#include "runtime/backend.h"
#include "runtime/fast_tls.h"

namespace sluice::engine {

// Each thread records into its own queue for each device; any thread may flush any queue. If an
// operand is pending in another queue, that queue runs it first. Thread-safe.
class Queue {
 public:
  // The calling thread's. Throws Error if the device has no stream for it.
  static Queue& current(Device device) {
    if (latest_ != nullptr && latest_->device_ == device) [[likely]]
      return *latest_;
    return find_current(device);
  }
  // All queues of the process. Queues are never destroyed.
  static std::vector<Queue*> all();

  explicit Queue(Device device);

  // Takes over the handles of consumed operands, unless it throws.
  NodeRef append(const OpCall& call);
  // Likewise, inline, for the hot path. `num_operands`: a compile-time constant if possible. See
  // queue_append.h.
  template <typename Size>
  NodeRef append_inline(const OpCall& call, Size num_operands);

  // Submits every op whose value can still be asked for, and drops the others.
  void flush(FlushCause cause, runtime::SubmitMode mode);
  // Submits what `target` needs, if `target` is pending here. The rest stays pending.
  void flush_for(Node* target, FlushCause cause, runtime::SubmitMode mode);

  // A handle on the node that `weak` points to, if it is pending here; else null. `weak` has to be
  // cleared before the node is gone: see Attachment.
  NodeRef find_pending(const std::atomic<Node*>& weak);

  // f(the op that computes this node), if it is pending here, under the queue's lock: f may take
  // handles on operands, and must not use the queue. False if it is not.
  bool with_pending_call(const std::atomic<Node*>& weak, absl::FunctionRef<void(const OpCall&)> f);

  // As flush(), if the work is worth starting and the stream is idle. False if the caller should
  // try again later. Never throws: a failure is reported to whoever asks for the result.
  bool start_if_idle();

  // For the trace: notes the scope that `node` is recorded in, if it is pending here.
  void note_origin(const Node* node);

  // Counts an op that became an alias of its operand and was never pending.
  void count_alias();

  Device device() const { return device_; }
  runtime::Backend& backend() { return backend_; }
  runtime::Stream& stream() { return *stream_; }
  int64_t ops_recorded() const { return ops_recorded_.load(std::memory_order_relaxed); }

 private:
  // Which ops a flush runs.
  struct Choice {
    Node* target = nullptr;                // what this node needs; null: all that has handles
    size_t end = static_cast<size_t>(-1);  // only ops before this one
  };
  enum Mark : uint8_t { kUnmarked = 0, kNeeded = 1, kRemains = 2, kLive = 4 };

  Node* pending_node(const std::atomic<Node*>& weak) const;
  static Queue& find_current(Device device);
  void count_recorded();
  void bring_here(const NodeOperand& operand);
  void bring_from(Queue* other, Node* operand);
  void begin_window();
  bool is_full() const;
  void flush_full();
  void flush_before_last();
  int64_t live_bytes() const;
  bool is_short() const { return settings_.memory_limit <= short_under_; }
  int64_t short_bytes() const;
  bool is_alone() const;
  void limit_window();
  void run_in_pieces(FlushCause cause);
  bool starts_by_itself() const;
  bool is_worth_starting() const;

  void run(FlushCause cause, runtime::SubmitMode mode, Choice choice);
  void forget_attachments();
  bool is_whole(Choice choice);
  void mark(Choice choice);
  bool run_all(runtime::SubmitMode mode);
  bool run_marked(runtime::SubmitMode mode);
  PlanMode mode() const;
  std::shared_ptr<const ReadyPlan> find_plan(Window* window);
  bool fit(const Window& window, uint64_t pins, std::shared_ptr<const ReadyPlan>* plan);

  friend struct ThreadQueues;
  static SLUICE_FAST_TLS Queue* latest_;  // that the thread used last

  QueueMutex mutex_;
  Window pending_;
  int64_t bytes_since_scan_ = 0;
  int64_t most_bytes_ = 0;   // more pending bytes than that are looked into
  int64_t short_under_ = 0;  // windows are short under this limit of memory, and lower ones
  LoopAligner aligner_;
  std::atomic<int64_t> ops_recorded_{0};
  const Config& settings_;
  const Device device_;
  runtime::Backend& backend_;
  const std::unique_ptr<runtime::Stream> stream_;
  PlanCache plans_;  // that this queue has used
  SharedPlanCache& shared_plans_;

  // Scratch of a flush.
  std::shared_ptr<FlushObserver> observer_;  // null if nobody watches
  bool is_hit_ = false;                      // the plan was known
  std::vector<uint8_t> marks_;               // by op
  std::vector<uint64_t> live_;               // see Window::complete()
  Window chosen_, remaining_;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RECORD_QUEUE_H_
