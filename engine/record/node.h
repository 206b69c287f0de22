// A node: one recorded op and, later, its result. A handle (NodeRef) is an intrusive reference to
// it.
#ifndef SLUICE_ENGINE_RECORD_NODE_H_
#define SLUICE_ENGINE_RECORD_NODE_H_

#include <atomic>
#include <cstdint>
#include <utility>

#include <sluice/detail/node_handle.h>
#include <sluice/device.h>
#include <sluice/dtype.h>
#include "runtime/layout.h"
#include "runtime/memory/buffer.h"

namespace sluice::engine {

class Queue;

struct Node;

// What the frontend keeps with a node: how its value was computed. The engine only says when the
// node is gone.
struct Attachment {
  void (*node_is_gone)(Attachment* self, Node* node);
};

enum class NodeState : uint8_t {
  kPending,    // in `queue`, whose window knows the op
  kSubmitted,  // `buffer` holds the value, or will once buffer->written is done
};

struct Node : NodeBase {
  std::atomic<NodeState> state{NodeState::kPending};

  DType dtype = DType::kFloat32;
  Device device = Device::cpu();
  Layout layout;  // pending: only the shape counts; submitted: of the value in `buffer`

  // While pending: where. It holds one pin.
  std::atomic<Queue*> queue{nullptr};
  uint32_t position = 0;

  // Once submitted: its number among the inputs of the window that read it last. A hint, as windows
  // of several threads may read a node at the same time.
  std::atomic<uint32_t> input_number{0};
  runtime::BufferRef buffer;

  // Set once at most, by the thread that records the node, and gone with it.
  std::atomic<Attachment*> attachment{nullptr};

  bool submitted() const { return state.load(std::memory_order_acquire) == NodeState::kSubmitted; }
  int64_t bytes() const { return layout.shape.numel() * static_cast<int64_t>(size_of(dtype)); }
};

inline Node* NodeRef::get() const { return static_cast<Node*>(node_); }
inline Node* NodeRef::operator->() const { return get(); }
inline Node& NodeRef::operator*() const { return *get(); }
inline Node* NodeRef::release() { return static_cast<Node*>(std::exchange(node_, nullptr)); }

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RECORD_NODE_H_
