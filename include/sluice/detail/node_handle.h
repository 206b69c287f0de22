// What a tensor holds: a counted handle on a node of the engine, of which programs see nothing
// else.
#ifndef SLUICE_DETAIL_NODE_HANDLE_H_
#define SLUICE_DETAIL_NODE_HANDLE_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#pragma GCC visibility push(default)
namespace sluice {
namespace engine {

struct Node;

// The part of a node that its handles count in.
struct NodeBase {
  // Handles in the low half, pins in the high half. A pin is a window's claim on a node that is
  // pending in it or that it reads. No handles: nobody will ever ask for the value again.
  // What <atomic> would do, which takes longer to include than the rest of this file.
  class Count {
   public:
    [[nodiscard]] uint64_t load() const { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }
    // While no other thread counts here.
    void set(uint64_t value) { __atomic_store_n(&value_, value, __ATOMIC_RELAXED); }
    void add(uint64_t value) { __atomic_fetch_add(&value_, value, __ATOMIC_RELAXED); }
    // What it was.
    uint64_t subtract(uint64_t value) {
      return __atomic_fetch_sub(&value_, value, __ATOMIC_ACQ_REL);
    }

   private:
    uint64_t value_ = 0;
  };
  Count references;

  static constexpr uint64_t kHandle = 1;
  static constexpr uint64_t kPin = uint64_t{1} << 32;

  bool has_handles() const { return (references.load() & (kPin - 1)) != 0; }
  void add(uint64_t what) { references.add(what); }
  void drop(uint64_t what) {
    if (references.subtract(what) == what) destroy(this);
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
#pragma GCC visibility pop

#endif  // SLUICE_DETAIL_NODE_HANDLE_H_
