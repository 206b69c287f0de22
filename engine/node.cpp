#include "sluice/engine/node.h"

#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace sluice::engine {
namespace {

constexpr size_t kSlabNodes = 128;
// A thread keeps at most this many free nodes to itself; the rest it hands on in such lots.
constexpr size_t kLot = 256;

union Slot {
  Slot* next;
  alignas(Node) std::byte storage[sizeof(Node)];
};

// Free slots that no thread keeps. Slabs are never given back: the number of nodes is bounded by
// the windows and the live handles.
class SharedSlots {
 public:
  static SharedSlots& get() {
    static SharedSlots* slots = new SharedSlots;
    return *slots;
  }

  void give(std::vector<Slot*> lot) {
    std::lock_guard lock(mutex_);
    lots_.push_back(std::move(lot));
  }

  std::vector<Slot*> take() {
    std::lock_guard lock(mutex_);
    if (!lots_.empty()) {
      std::vector<Slot*> lot = std::move(lots_.back());
      lots_.pop_back();
      return lot;
    }
    slabs_.push_back(std::make_unique<Slot[]>(kSlabNodes));
    std::vector<Slot*> lot(kSlabNodes);
    for (size_t i = 0; i < kSlabNodes; ++i) lot[i] = &slabs_.back()[i];
    return lot;
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<Slot*>> lots_;
  std::vector<std::unique_ptr<Slot[]>> slabs_;
};

struct ThreadSlots {
  std::vector<Slot*> free;
  ~ThreadSlots() {
    if (!free.empty()) SharedSlots::get().give(std::move(free));
    closed = true;
  }
  // Handles in other thread_local or static objects may outlive this one.
  static thread_local bool closed;
};

thread_local bool ThreadSlots::closed = false;
thread_local ThreadSlots thread_slots;

}  // namespace

Node* Node::create() {
  if (ThreadSlots::closed) {
    std::vector<Slot*> lot = SharedSlots::get().take();
    Slot* slot = lot.back();
    lot.pop_back();
    if (!lot.empty()) SharedSlots::get().give(std::move(lot));
    return new (slot) Node;
  }
  std::vector<Slot*>& free = thread_slots.free;
  if (free.empty()) free = SharedSlots::get().take();
  Slot* slot = free.back();
  free.pop_back();
  return new (slot) Node;
}

void Node::destroy(Node* node) {
  node->~Node();
  Slot* slot = reinterpret_cast<Slot*>(node);
  if (ThreadSlots::closed) {
    SharedSlots::get().give({slot});
    return;
  }
  std::vector<Slot*>& free = thread_slots.free;
  free.push_back(slot);
  if (free.size() >= 2 * kLot) {
    SharedSlots::get().give(std::vector<Slot*>(free.end() - kLot, free.end()));
    free.resize(free.size() - kLot);
  }
}

}  // namespace sluice::engine
