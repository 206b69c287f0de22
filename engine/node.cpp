#include "sluice/engine/node.h"

#include <memory>
#include <mutex>
#include <new>
#include <utility>
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

// Asked for by every op: of a kind that takes one instruction to find.
#if defined(__GNUC__)
#define SLUICE_FAST_TLS __attribute__((tls_model("initial-exec")))
#else
#define SLUICE_FAST_TLS
#endif
// Free slots of this thread, in a list.
SLUICE_FAST_TLS thread_local constinit Slot* free_slots = nullptr;
SLUICE_FAST_TLS thread_local constinit size_t num_free = 0;
// The thread is past its end: handles in other thread_local or static objects may live on.
SLUICE_FAST_TLS thread_local constinit bool closed = false;

// Takes `count` slots out of the list.
std::vector<Slot*> take_free(size_t count) {
  std::vector<Slot*> lot(count);
  for (Slot*& slot : lot) slot = std::exchange(free_slots, free_slots->next);
  num_free -= count;
  return lot;
}

struct ThreadEnd {
  ~ThreadEnd() {
    if (num_free > 0) SharedSlots::get().give(take_free(num_free));
    closed = true;
  }
};

// From now on there is something to hand on at the thread's end.
void watch_thread_end() { thread_local ThreadEnd end; }

void push_free(Slot* slot) {
  if (free_slots == nullptr) watch_thread_end();
  slot->next = std::exchange(free_slots, slot);
  ++num_free;
}

// Fills the empty list; a slot of it.
Slot* refill() {
  std::vector<Slot*> lot = SharedSlots::get().take();
  Slot* slot = lot.back();
  lot.pop_back();
  if (closed) {
    if (!lot.empty()) SharedSlots::get().give(std::move(lot));
    return slot;
  }
  for (Slot* other : lot) push_free(other);
  return slot;
}

}  // namespace

Node* Node::create() {
  Slot* slot = free_slots;
  if (slot == nullptr) [[unlikely]]
    return new (refill()) Node;
  free_slots = slot->next;
  --num_free;
  return new (slot) Node;
}

void Node::destroy(Node* node) {
  node->~Node();
  Slot* slot = reinterpret_cast<Slot*>(node);
  if (closed) [[unlikely]] {
    SharedSlots::get().give({slot});
    return;
  }
  push_free(slot);
  if (num_free >= 2 * kLot) SharedSlots::get().give(take_free(kLot));
}

}  // namespace sluice::engine
