// Allocates nodes from per-thread free lists. In steady state a node takes a few instructions and
// no allocation.
#ifndef SLUICE_ENGINE_RECORD_NODE_SLAB_H_
#define SLUICE_ENGINE_RECORD_NODE_SLAB_H_

#include <cstddef>

#include "engine/record/node.h"
#include "runtime/fast_tls.h"

namespace sluice::engine {

// A node is constructed once and recycled; while free it is in a list.
struct NodeSlot : Node {
  NodeSlot* next = nullptr;
};

struct FreeNodes {
  NodeSlot* first = nullptr;
  size_t count = 0;
  // The thread's exit hook has run. Handles in other thread_local or static objects may still die.
  bool is_closed = false;

  // A thread keeps at most two lots, enough for a window or two, and shares the rest lot by lot.
  static constexpr size_t kLot = 4096;

  Node* take() {
    if (first == nullptr) [[unlikely]]
      return refill();
    NodeSlot* const slot = first;
    first = slot->next;
    --count;
    return slot;
  }
  void give(Node* node) {
    auto* const slot = static_cast<NodeSlot*>(node);
    if (first == nullptr || count + 1 >= 2 * kLot) [[unlikely]]
      return give_slowly(slot);
    slot->next = first;
    first = slot;
    ++count;
  }

 private:
  Node* refill();
  void give_slowly(NodeSlot* slot);
};

extern SLUICE_FAST_TLS FreeNodes free_nodes;

// Tells the attachment that the node is gone.
void detach(Node* node);

// The node has no buffer and no attachment; its other members are those of its last use.
inline Node* make_node(uint64_t references) {
  Node* node = free_nodes.take();
  node->references.set(references);
  return node;
}

inline void unmake_node(Node* node) {
  if (node->buffer) node->buffer = {};
  if (node->attachment.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
    detach(node);
  free_nodes.give(node);
}

// Node::drop(kPin), without an atomic operation if it is the last reference. Only for a pin without
// which no other thread can get a reference.
inline void drop_pin(Node* node) {
  if (node->references.load() == Node::kPin) {
    unmake_node(node);
  } else {
    node->drop(Node::kPin);
  }
}

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RECORD_NODE_SLAB_H_
