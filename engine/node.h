// A node: one recorded op and, later, its result. Handles are intrusive references to it.
#ifndef SLUICE_ENGINE_NODE_H_
#define SLUICE_ENGINE_NODE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "sluice/fusion/op.h"
#include "sluice/runtime/buffer.h"
#include "sluice/runtime/device.h"
#include "sluice/runtime/layout.h"

namespace sluice::engine {

class Queue;
struct Node;

// A handle: 8 bytes, counted.
class NodeRef {
 public:
  NodeRef() = default;
  explicit NodeRef(Node* node);  // takes over one handle that is counted already
  NodeRef(const NodeRef& other);
  NodeRef(NodeRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodeRef& operator=(NodeRef other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodeRef();

  Node* get() const { return node_; }
  Node* operator->() const { return node_; }
  Node& operator*() const { return *node_; }
  bool operator==(std::nullptr_t) const { return node_ == nullptr; }

 private:
  Node* node_ = nullptr;
};

// An operand of a node: another node, or a scalar in the dtype that the op computes in.
struct NodeOperand {
  Node* node = nullptr;
  uint64_t scalar = 0;  // its bits, if node == nullptr
  // The operand was submitted when the op was recorded: the op holds a pin on it. A pending operand
  // is kept by the queue.
  bool pinned = false;
};

enum class NodeState : uint8_t {
  kPending,    // in `queue`, to be computed
  kSubmitted,  // `buffer` holds the value, or will once buffer->written is done
};

struct Node {
  // Handles in the low half, pins in the high half. A pin is the queue's claim on a node that is
  // pending or that pending nodes read. No handles: nobody will ever ask for the value again.
  std::atomic<uint64_t> references{1};
  std::atomic<NodeState> state{NodeState::kPending};

  fusion::Op op = fusion::Op::kInput;
  DType dtype = DType::kFloat32;
  DType operand_dtype = DType::kFloat32;  // see fusion::GraphNode
  Device device = Device::cpu();
  Layout layout;  // pending: of the row-major result; submitted: of the value in `buffer`

  // While pending.
  std::atomic<Queue*> queue{nullptr};
  uint32_t position = 0;  // in the queue
  uint32_t ordinal = 0;   // in the window that is being flushed
  absl::InlinedVector<NodeOperand, 3> operands;
  absl::InlinedVector<int64_t, 4> attrs;

  // Once submitted.
  runtime::BufferRef buffer;

  static constexpr uint64_t kHandle = 1;
  static constexpr uint64_t kPin = uint64_t{1} << 32;

  bool submitted() const { return state.load(std::memory_order_acquire) == NodeState::kSubmitted; }
  bool has_handles() const {
    return (references.load(std::memory_order_acquire) & (kPin - 1)) != 0;
  }
  int64_t bytes() const { return layout.shape.numel() * static_cast<int64_t>(size_of(dtype)); }

  void add(uint64_t what) { references.fetch_add(what, std::memory_order_relaxed); }
  void drop(uint64_t what) {
    if (references.fetch_sub(what, std::memory_order_acq_rel) == what) destroy(this);
  }

  // Nodes come from a slab: making one costs no allocation in steady state.
  static Node* create();
  static void destroy(Node* node);
};

inline NodeRef::NodeRef(Node* node) : node_(node) {}
inline NodeRef::NodeRef(const NodeRef& other) : node_(other.node_) {
  if (node_ != nullptr) node_->add(Node::kHandle);
}
inline NodeRef::~NodeRef() {
  if (node_ != nullptr) node_->drop(Node::kHandle);
}

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_NODE_H_
