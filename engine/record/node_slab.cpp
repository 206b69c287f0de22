#include "engine/record/node_slab.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice::engine {
namespace {

constexpr size_t kSlabNodes = 128;

using Lot = std::vector<NodeSlot*>;

// Free slots that no thread keeps. Slabs are never freed: windows and live handles bound the number
// of nodes.
class SharedSlots {
 public:
  static SharedSlots& get() {
    static SharedSlots* slots = new SharedSlots;
    return *slots;
  }

  void give(Lot lot) {
    std::lock_guard lock(mutex_);
    lots_.push_back(std::move(lot));
  }

  Lot take() {
    std::lock_guard lock(mutex_);
    if (!lots_.empty()) {
      Lot lot = std::move(lots_.back());
      lots_.pop_back();
      return lot;
    }
    slabs_.push_back(std::make_unique<NodeSlot[]>(kSlabNodes));
    Lot lot(kSlabNodes);
    for (size_t i = 0; i < kSlabNodes; ++i) lot[i] = &slabs_.back()[i];
    return lot;
  }

 private:
  std::mutex mutex_;
  std::vector<Lot> lots_;
  std::vector<std::unique_ptr<NodeSlot[]>> slabs_;
};

Lot take_free(size_t count) {
  Lot lot(count);
  for (NodeSlot*& slot : lot) slot = std::exchange(free_nodes.first, free_nodes.first->next);
  free_nodes.count -= count;
  return lot;
}

struct ThreadEnd {
  ~ThreadEnd() {
    if (free_nodes.count > 0) SharedSlots::get().give(take_free(free_nodes.count));
    free_nodes.is_closed = true;
  }
};

// Registers the thread-exit hook.
void watch_thread_end() { thread_local ThreadEnd end; }

}  // namespace

SLUICE_FAST_TLS FreeNodes free_nodes;

Node* FreeNodes::refill() {
  Lot lot = SharedSlots::get().take();
  NodeSlot* slot = lot.back();
  lot.pop_back();
  if (is_closed) {
    if (!lot.empty()) SharedSlots::get().give(std::move(lot));
  } else {
    watch_thread_end();
    for (NodeSlot* other : lot) other->next = std::exchange(first, other);
    count = lot.size();
  }
  return slot;
}

// Called if the list is empty or has two lots.
void FreeNodes::give_slowly(NodeSlot* slot) {
  if (is_closed) {
    SharedSlots::get().give({slot});
    return;
  }
  watch_thread_end();
  slot->next = std::exchange(first, slot);
  if (++count >= 2 * kLot) SharedSlots::get().give(take_free(kLot));
}

void detach(Node* node) {
  Attachment* const attachment = node->attachment.exchange(nullptr, std::memory_order_acquire);
  attachment->node_is_gone(attachment, node);
}

void NodeBase::destroy(NodeBase* node) { unmake_node(static_cast<Node*>(node)); }

}  // namespace sluice::engine
