// Nodes come from free lists of the threads.
#ifndef SLUICE_ENGINE_RECORD_NODE_SLAB_H_
#define SLUICE_ENGINE_RECORD_NODE_SLAB_H_

#include <cstdint>

#include "engine/record/node.h"
#include "runtime/fast_tls.h"
#include "runtime/memory/free_slots.h"

namespace sluice::engine {

extern SLUICE_FAST_TLS runtime::FreeSlots<Node> free_nodes;

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
