// What a tensor holds: a counted handle on a node of the engine, of which programs see nothing
// else.
#ifndef SLUICE_DETAIL_NODE_HANDLE_H_
#define SLUICE_DETAIL_NODE_HANDLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <sluice/detail/export.h>

namespace SLUICE_EXPORT sluice {
namespace engine {

struct Node;

// The part of a node that its handles count in.
struct NodeBase {
  // Handles in the low half, pins in the high half. A pin is a window's claim on a node that is
  // pending in it or that it reads. No handles: nobody will ever ask for the value again.
  std::atomic<uint64_t> references{0};

  static constexpr uint64_t kHandle = 1;
  static constexpr uint64_t kPin = uint64_t{1} << 32;

  bool has_handles() const {
    return (references.load(std::memory_order_acquire) & (kPin - 1)) != 0;
  }
  void add(uint64_t what) { references.fetch_add(what, std::memory_order_relaxed); }
  void drop(uint64_t what) {
    if (references.fetch_sub(what, std::memory_order_acq_rel) == what) destroy(this);
  }

 private:
  static void destroy(NodeBase* node);
};

// A handle: 8 bytes, counted.
class NodeRef {
 public:
  NodeRef() = default;
  explicit NodeRef(NodeBase* node) : node_(node) {}  // takes over one handle, counted already
  NodeRef(const NodeRef& other) : node_(other.node_) {
    if (node_ != nullptr) node_->add(NodeBase::kHandle);
  }
  NodeRef(NodeRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodeRef& operator=(NodeRef other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodeRef() {
    if (node_ != nullptr) node_->drop(NodeBase::kHandle);
  }

  bool operator==(std::nullptr_t) const { return node_ == nullptr; }

  // Defined where Node is.
  inline Node* get() const;
  inline Node* operator->() const;
  inline Node& operator*() const;
  // Becomes empty; the caller takes over the handle.
  [[nodiscard]] inline Node* release();

 private:
  NodeBase* node_ = nullptr;
};

}  // namespace engine
}  // namespace sluice

#endif  // SLUICE_DETAIL_NODE_HANDLE_H_
