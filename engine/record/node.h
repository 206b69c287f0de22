// A node: one recorded op and, later, its result. Handles are intrusive references to it.
#ifndef SLUICE_ENGINE_RECORD_NODE_H_
#define SLUICE_ENGINE_RECORD_NODE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <sluice/device.h>
#include <sluice/dtype.h>
#include "runtime/buffer.h"
#include "runtime/layout.h"

namespace sluice::engine {

class Queue;
struct Node;

// A handle: 8 bytes, counted.
class NodeRef {
 public:
  NodeRef() = default;
  explicit NodeRef(Node* node) : node_(node) {}  // takes over one handle that is counted already
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

  // Becomes empty; the caller takes over the handle.
  [[nodiscard]] Node* release() { return std::exchange(node_, nullptr); }

 private:
  Node* node_ = nullptr;
};

enum class NodeState : uint8_t {
  kPending,    // in `queue`, whose window knows the op
  kSubmitted,  // `buffer` holds the value, or will once buffer->written is done
};

struct Node {
  // Handles in the low half, pins in the high half. A pin is a window's claim on a node that is
  // pending in it or that it reads. No handles: nobody will ever ask for the value again.
  std::atomic<uint64_t> references{0};
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

 private:
  static void destroy(Node* node);
};

inline NodeRef::NodeRef(const NodeRef& other) : node_(other.node_) {
  if (node_ != nullptr) node_->add(Node::kHandle);
}
inline NodeRef::~NodeRef() {
  if (node_ != nullptr) node_->drop(Node::kHandle);
}

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RECORD_NODE_H_
