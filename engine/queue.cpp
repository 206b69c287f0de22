#include "sluice/engine/queue.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "sluice/engine/config.h"
#include "sluice/engine/counters.h"
#include "sluice/engine/recorder.h"
#include "sluice/engine/scheduler.h"
#include "sluice/runtime/error.h"

namespace sluice::engine {
namespace {

// Batches that a stream may be behind: bounds the memory that work under way holds.
constexpr uint64_t kMaxBatchesBehind = 4;

// All queues. Those of threads that have ended wait for new threads.
class Registry {
 public:
  static Registry& get() {
    static Registry* registry = new Registry;
    return *registry;
  }

  Queue* acquire(Device device) {
    std::lock_guard lock(mutex_);
    // Work under way at exit is waited for, before what it runs on is torn down.
    static struct ExitGuard {
      ~ExitGuard() {
        for (Queue* queue : Registry::get().all()) {
          queue->stream().wait(queue->stream().next_ticket() - 1);
        }
      }
    } guard;
    const auto idle = std::find_if(idle_.begin(), idle_.end(),
                                   [&](const Queue* queue) { return queue->device() == device; });
    if (idle != idle_.end()) {
      Queue* queue = *idle;
      idle_.erase(idle);
      return queue;
    }
    queues_.push_back(std::make_unique<Queue>(device));
    return queues_.back().get();
  }

  void give_back(Queue* queue) {
    std::lock_guard lock(mutex_);
    idle_.push_back(queue);
  }

  std::vector<Queue*> all() {
    std::lock_guard lock(mutex_);
    std::vector<Queue*> result;
    for (const auto& queue : queues_) result.push_back(queue.get());
    return result;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<Queue*> idle_;
};

// A thread's queues: the CPU's, then those of the GPUs; null where it has recorded nothing yet.
struct ThreadQueues {
  absl::InlinedVector<Queue*, 2> queues;
  ~ThreadQueues();
};

// The queue that the thread used last. Asked for by every op: of a kind that takes one instruction
// to find, with neither a constructor nor a destructor.
#if defined(__GNUC__)
__attribute__((tls_model("initial-exec")))
#endif
thread_local constinit Queue* latest = nullptr;

ThreadQueues::~ThreadQueues() {
  latest = nullptr;
  for (Queue* queue : queues) {
    if (queue != nullptr) Registry::get().give_back(queue);
  }
}

}  // namespace

const char* name_of(FlushCause cause) {
  constexpr const char* kNames[] = {"read",      "eval",        "flush",       "sync",
                                    "op budget", "byte budget", "other thread"};
  return kNames[static_cast<int>(cause)];
}

Queue& Queue::current(Device device) {
  if (latest != nullptr && latest->device() == device) [[likely]]
    return *latest;
  thread_local ThreadQueues mine;
  const size_t number = device.type() == DeviceType::kCpu ? 0 : 1 + device.index();
  if (number >= mine.queues.size()) mine.queues.resize(number + 1);
  Queue*& queue = mine.queues[number];
  if (queue == nullptr) queue = Registry::get().acquire(device);
  latest = queue;
  return *queue;
}

std::vector<Queue*> Queue::all() { return Registry::get().all(); }

static std::unique_ptr<runtime::Stream> make_stream(runtime::Backend& backend) {
  absl::StatusOr<std::unique_ptr<runtime::Stream>> stream = backend.make_stream();
  if (!stream.ok()) throw Error(stream.status());
  return *std::move(stream);
}

Queue::Queue(Device device)
    : device_(device), backend_(runtime::backend(device)), stream_(make_stream(backend_)) {}

NodeRef Queue::append(const Recording& recording) {
  bring_operands_here(recording.operands);
  std::lock_guard lock(mutex_);
  flush_if_full();
  Node* node = Node::create();
  node->references.store(Node::kHandle + Node::kPin, std::memory_order_relaxed);
  node->op = recording.op;
  node->dtype = recording.dtype;
  node->operand_dtype = recording.operand_dtype;
  node->device = recording.device;
  node->layout.shape = recording.shape;
  node->queue.store(this, std::memory_order_relaxed);
  node->position = static_cast<uint32_t>(nodes_.size());
  if (!recording.attrs.empty()) {
    node->attrs.assign(recording.attrs.begin(), recording.attrs.end());
  }
  for (const NodeOperand& given : recording.operands) {
    NodeOperand& operand = node->operands.emplace_back(given);
    if (operand.node == nullptr || !operand.node->submitted()) continue;
    operand.node->add(Node::kPin);
    operand.pinned = true;
  }
  nodes_.push_back(node);
  bytes_since_scan_ += node->bytes();
  count_recorded();
  return NodeRef(node);
}

// Written by the queue's own thread alone.
void Queue::count_recorded() {
  ops_recorded_.store(ops_recorded_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void Queue::count_alias() {
  count_recorded();
  count(counters().ops_executed);
}

void Queue::bring_operands_here(absl::Span<const NodeOperand> operands) {
  for (const NodeOperand& operand : operands) {
    if (operand.node == nullptr || operand.node->submitted()) continue;
    Queue* queue = operand.node->queue.load(std::memory_order_acquire);
    if (queue == this || queue == nullptr) continue;
    queue->flush_for(operand.node, FlushCause::kOtherThread, runtime::SubmitMode::kDetached);
  }
}

// A full window is flushed by the next op rather than by the last: by then the temporaries of the
// statement that filled it are gone.
void Queue::flush_if_full() {
  const Config& settings = config();
  if (static_cast<int64_t>(nodes_.size()) >= settings.window_ops) {
    run(FlushCause::kOps, runtime::SubmitMode::kDetached, nullptr);
  } else if (bytes_since_scan_ > settings.max_pending_bytes) {
    bytes_since_scan_ = live_bytes();
    if (bytes_since_scan_ > settings.max_pending_bytes / 2) {
      run(FlushCause::kBytes, runtime::SubmitMode::kDetached, nullptr);
    }
  }
}

int64_t Queue::live_bytes() const {
  int64_t bytes = 0;
  for (const Node* node : nodes_) {
    if (node->has_handles()) bytes += node->bytes();
  }
  return bytes;
}

void Queue::flush(FlushCause cause, runtime::SubmitMode mode) {
  std::lock_guard lock(mutex_);
  run(cause, mode, nullptr);
}

void Queue::flush_for(Node* target, FlushCause cause, runtime::SubmitMode mode) {
  std::lock_guard lock(mutex_);
  if (!target->submitted()) run(cause, mode, target);
}

void Queue::mark_needed(Node* target) {
  marks_.assign(nodes_.size(), kUnmarked);
  if (target != nullptr) {
    marks_[target->position] = kNeeded;
  } else {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i]->has_handles()) marks_[i] = kNeeded;
    }
  }
  for (size_t i = nodes_.size(); i-- > 0;) {
    if ((marks_[i] & kNeeded) == 0) continue;
    for (const NodeOperand& operand : nodes_[i]->operands) {
      if (operand.node != nullptr && !operand.node->submitted()) {
        marks_[operand.node->position] |= kNeeded;
      }
    }
  }
}

void Queue::mark_remaining() {
  for (size_t i = nodes_.size(); i-- > 0;) {
    if ((marks_[i] & kNeeded) != 0) continue;
    if (nodes_[i]->has_handles()) marks_[i] |= kRemains;
    if ((marks_[i] & kRemains) == 0) continue;
    for (const NodeOperand& operand : nodes_[i]->operands) {
      if (operand.node == nullptr || operand.node->submitted()) continue;
      uint8_t& mark = marks_[operand.node->position];
      mark |= (mark & kNeeded) != 0 ? kReadLater : kRemains;
    }
  }
}

void Queue::run(FlushCause cause, runtime::SubmitMode mode, Node* target) {
  mark_needed(target);
  mark_remaining();
  window_.clear();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if ((marks_[i] & kNeeded) == 0) continue;
    window_.nodes.push_back(nodes_[i]);
    window_.live.push_back((marks_[i] & kReadLater) != 0 || nodes_[i]->has_handles());
  }
  if (!window_.nodes.empty()) {
    const PlanMode mode_of_plan{config().fuse, config().fast_math};
    describe(&window_, mode_of_plan);
    std::shared_ptr<const ReadyPlan> plan = plans_.find(window_.signature());
    const bool hit = plan != nullptr;
    count(hit ? counters().plan_hits : counters().plan_misses);
    if (!hit) {
      plan = prepare(to_graph(window_), mode_of_plan, device_);
      plans_.insert(window_.signature(), plan, config().plan_cache_entries);
    }
    if (is_recording()) record_window(cause, window_, *plan, hit);
    submit(window_, std::move(plan), &backend_, stream_.get(), mode);
    const uint64_t last = stream_->next_ticket() - 1;
    if (last > kMaxBatchesBehind) stream_->wait(last - kMaxBatchesBehind);
  }
  retire();
}

// Nodes that ran or that nobody can ask for any more leave the queue.
void Queue::retire() {
  std::vector<Node*> leaving;
  size_t kept = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node* node = nodes_[i];
    if ((marks_[i] & kRemains) == 0) {
      leaving.push_back(node);
      continue;
    }
    for (NodeOperand& operand : node->operands) {
      if (operand.node == nullptr || operand.pinned || !operand.node->submitted()) continue;
      operand.node->add(Node::kPin);
      operand.pinned = true;
    }
    node->position = static_cast<uint32_t>(kept);
    nodes_[kept++] = node;
  }
  nodes_.resize(kept);
  bytes_since_scan_ = live_bytes();
  for (Node* node : leaving) release(node);
}

void Queue::release(Node* node) {
  for (const NodeOperand& operand : node->operands) {
    if (operand.pinned) operand.node->drop(Node::kPin);
  }
  node->operands.clear();
  node->attrs.clear();
  node->queue.store(nullptr, std::memory_order_release);
  node->drop(Node::kPin);
}

}  // namespace sluice::engine
