// A pending queue: ops of one thread for one device that are recorded and not yet run.
#ifndef SLUICE_ENGINE_QUEUE_H_
#define SLUICE_ENGINE_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "sluice/engine/node.h"
#include "sluice/engine/plan_cache.h"
#include "sluice/engine/window.h"
#include "sluice/runtime/backend.h"

namespace sluice::engine {

// What an op is recorded from. Checked by the frontend; all that it refers to outlives the call.
struct Recording {
  fusion::Op op;
  DType dtype;
  DType operand_dtype;
  Device device;
  const Shape& shape;
  absl::Span<const NodeOperand> operands;
  absl::Span<const int64_t> attrs;
};

enum class FlushCause : uint8_t { kRead, kEval, kFlush, kSync, kOps, kBytes, kOtherThread };
const char* name_of(FlushCause cause);

// Each thread records into a queue of its own for each device; any thread may flush any queue. An
// op whose operand is pending in another queue has that run first. Thread-safe.
class Queue {
 public:
  // The calling thread's. Throws Error if the device cannot give it a stream.
  static Queue& current(Device device);
  // Every queue there is; queues are never destroyed.
  static std::vector<Queue*> all();

  explicit Queue(Device device);

  NodeRef append(const Recording& recording);

  // Submits everything that somebody can still ask for, and forgets the rest.
  void flush(FlushCause cause, runtime::SubmitMode mode);
  // Submits what `target` needs, if it is pending here; the rest stays pending.
  void flush_for(Node* target, FlushCause cause, runtime::SubmitMode mode);

  // An op that was answered with an alias of its operand and never became pending.
  void count_alias();

  Device device() const { return device_; }
  runtime::Backend& backend() { return backend_; }
  runtime::Stream& stream() { return *stream_; }
  int64_t ops_recorded() const { return ops_recorded_.load(std::memory_order_relaxed); }

 private:
  void count_recorded();
  void bring_operands_here(absl::Span<const NodeOperand> operands);
  void flush_if_full();
  int64_t live_bytes() const;
  void mark_needed(Node* target);
  void mark_remaining();
  void run(FlushCause cause, runtime::SubmitMode mode, Node* target);
  void retire();
  static void release(Node* node);

  enum Mark : uint8_t { kUnmarked = 0, kNeeded = 1, kRemains = 2, kReadLater = 4 };

  std::mutex mutex_;
  std::vector<Node*> nodes_;  // pending, in order
  int64_t bytes_since_scan_ = 0;
  std::atomic<int64_t> ops_recorded_{0};
  const Device device_;
  runtime::Backend& backend_;
  const std::unique_ptr<runtime::Stream> stream_;
  PlanCache plans_;

  // Scratch of a flush.
  std::vector<uint8_t> marks_;  // by position
  Window window_;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_QUEUE_H_
