// Queue::append(), which every op goes through. Inline: half of its work depends on what the caller
// knows at compile time, such as the number of operands and that there are no attributes.
#ifndef SLUICE_ENGINE_RECORD_QUEUE_APPEND_H_
#define SLUICE_ENGINE_RECORD_QUEUE_APPEND_H_

#include <algorithm>
#include <mutex>

#include "engine/record/idle_starter.h"
#include "engine/record/node_slab.h"
#include "engine/record/queue.h"
#include "engine/record/window_add.h"
#include "engine/run/reclaim.h"
#include "runtime/for_each_index.h"

namespace sluice::engine {

// Submits an operand that is pending in another queue.
inline void Queue::bring_here(const NodeOperand& operand) {
  if (operand.node == nullptr || operand.node->submitted()) return;
  Queue* const queue = operand.node->queue.load(std::memory_order_acquire);
  if (queue != this) [[unlikely]]
    bring_from(queue, operand.node);
}

// A full window is flushed by the next op: by then the temporaries of the statement that filled it
// are gone.
inline bool Queue::is_full() const {
  return static_cast<int64_t>(pending_.size()) >= settings_.window_ops ||
         bytes_since_scan_ > most_bytes_ || aligner_.is_due();
}

// On the CPU, work that starts by itself competes with the host.
inline bool Queue::starts_by_itself() const {
  return device_.type() != DeviceType::kCpu && !settings_.deterministic;
}

inline void Queue::begin_window() {
  most_bytes_ = settings_.max_pending_bytes;
  if (settings_.memory_limit != 0 && can_reclaim()) [[unlikely]]
    limit_window();
  if (starts_by_itself()) IdleStarter::wake();
}

// Written only by the queue's own thread.
inline void Queue::count_recorded() {
  ops_recorded_.store(ops_recorded_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Drops the caller's handle on a consumed operand. Takes no atomic operation if the operand is
// pending here and has no other handle: under the queue's lock its count cannot change.
inline void drop_consumed(Node* node) {
  if (!node->submitted() && node->references.load() == Node::kHandle + Node::kPin) {
    node->references.set(Node::kPin);
  } else {
    node->drop(Node::kHandle);
  }
}

template <typename Size>
[[gnu::always_inline]] inline NodeRef Queue::append_inline(const OpCall& call, Size num_operands) {
  const NodeOperand* const operands = call.operands.data();
  for_each_index(num_operands, [&](size_t k) { bring_here(operands[k]); });
  std::lock_guard lock(mutex_);
  if (is_full()) [[unlikely]]
    flush_full();
  Node* const node = make_node(Node::kHandle + Node::kPin);
  NodeRef result(node);  // dies with the op if what follows throws
  node->state.store(NodeState::kPending, std::memory_order_relaxed);
  node->dtype = call.dtype;
  node->device = call.device;
  node->layout.shape = call.shape;
  node->queue.store(this, std::memory_order_relaxed);
  pending_.add(node, call, num_operands);
  bytes_since_scan_ += node->bytes();
  count_recorded();
  if (node->position == 0) begin_window();
  if (aligner_.ends_loop(pending_)) [[unlikely]]
    flush_before_last();
  for_each_index(num_operands, [&](size_t k) {
    if (operands[k].consumed) drop_consumed(operands[k].node);
  });
  return result;
}

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RECORD_QUEUE_APPEND_H_
