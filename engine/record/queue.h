// A pending queue: ops of one thread for one device that are recorded and not yet run.
#ifndef SLUICE_ENGINE_RECORD_QUEUE_H_
#define SLUICE_ENGINE_RECORD_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sluice/config.h>
#include "absl/types/span.h"
#include "engine/observe/recorder.h"
#include "engine/record/loop_aligner.h"
#include "engine/record/node.h"
#include "engine/record/queue_mutex.h"
#include "engine/record/window.h"
#include "engine/run/plan_cache.h"
#include "runtime/backend.h"
#include "runtime/fast_tls.h"

namespace sluice::engine {

enum class FlushCause : uint8_t {
  kRead,
  kEval,
  kFlush,
  kSync,
  kOps,
  kLoop,
  kBytes,
  kOtherThread,
  kIdle,
  kCopy
};
const char* name_of(FlushCause cause);

// Each thread records into a queue of its own for each device; any thread may flush any queue. An
// op whose operand is pending in another queue has that run first. Thread-safe.
class Queue {
 public:
  // The calling thread's. Throws Error if the device cannot give it a stream.
  static Queue& current(Device device) {
    if (latest_ != nullptr && latest_->device_ == device) [[likely]]
      return *latest_;
    return find_current(device);
  }
  // Every queue there is; queues are never destroyed.
  static std::vector<Queue*> all();

  explicit Queue(Device device);

  // Takes over the handles of consumed operands, unless it throws.
  NodeRef append(const OpCall& call);
  // Likewise, for where ops come from in great numbers; `num_operands`: their number, as a constant
  // if it is one. See queue_append.h.
  template <typename Size>
  NodeRef append_inline(const OpCall& call, Size num_operands);

  // Submits everything that somebody can still ask for, and forgets the rest.
  void flush(FlushCause cause, runtime::SubmitMode mode);
  // Submits what `target` needs, if it is pending here; the rest stays pending.
  void flush_for(Node* target, FlushCause cause, runtime::SubmitMode mode);

  // As flush(), if there is work worth starting and the stream has nothing else to do. False if it
  // should be tried again later. Never throws: what fails is reported to who asks for the result.
  bool start_if_idle();

  // For the trace: `node`, if it is pending here, was made by the call that is under way.
  void note_origin(const Node* node);

  // An op that was answered with an alias of its operand and never became pending.
  void count_alias();

  Device device() const { return device_; }
  runtime::Backend& backend() { return backend_; }
  runtime::Stream& stream() { return *stream_; }
  int64_t ops_recorded() const { return ops_recorded_.load(std::memory_order_relaxed); }

 private:
  // Which ops a flush is to run.
  struct Choice {
    Node* target = nullptr;                // only what this one needs; null: whatever has handles
    size_t end = static_cast<size_t>(-1);  // of the ops before this one
  };
  enum Mark : uint8_t { kUnmarked = 0, kNeeded = 1, kRemains = 2, kLive = 4 };

  static Queue& find_current(Device device);
  void count_recorded();
  void bring_here(const NodeOperand& operand);
  void bring_from(Queue* other, Node* operand);
  bool is_full() const;
  void flush_full();
  void flush_before_last();
  int64_t live_bytes() const;
  bool starts_by_itself() const;
  bool is_worth_starting() const;

  void run(FlushCause cause, runtime::SubmitMode mode, Choice choice);
  bool is_whole(Choice choice);
  void mark(Choice choice);
  void run_all(const std::shared_ptr<FlushRecord>& record, runtime::SubmitMode mode);
  void run_marked(const std::shared_ptr<FlushRecord>& record, runtime::SubmitMode mode);
  std::shared_ptr<const ReadyPlan> find_plan(FlushRecord* record, Window* window);

  std::shared_ptr<FlushRecord> begin_record(FlushCause cause, Choice choice) const;
  std::string explain(FlushCause cause, Choice choice) const;

  friend struct ThreadQueues;
  static SLUICE_FAST_TLS Queue* latest_;  // the one that the thread used last

  QueueMutex mutex_;
  Window pending_;
  int64_t bytes_since_scan_ = 0;
  TraceClock::time_point first_recorded_;  // of what is pending, for the trace
  int thread_ = 0;                         // likewise
  LoopAligner aligner_;
  std::atomic<int64_t> ops_recorded_{0};
  const Config& settings_;
  const Device device_;
  runtime::Backend& backend_;
  const std::unique_ptr<runtime::Stream> stream_;
  PlanCache plans_;

  // Scratch of a flush.
  std::vector<uint8_t> marks_;  // by op
  std::vector<uint64_t> live_;  // see Window::complete()
  Window chosen_, remaining_;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RECORD_QUEUE_H_
