// Recycles objects through per-thread free lists. In steady state an object takes a few
// instructions and no allocation.
#ifndef SLUICE_RUNTIME_FREE_SLOTS_H_
#define SLUICE_RUNTIME_FREE_SLOTS_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice::runtime {

// An object is constructed once and recycled, its members those of its last use; while free it is
// in a list.
template <typename T>
struct Slot : T {
  Slot* next = nullptr;
};

// Free slots that no thread keeps. Slots are never freed: their number is the largest ever in use.
template <typename T>
class SharedSlots {
 public:
  using Lot = std::vector<Slot<T>*>;

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
    slabs_.push_back(std::make_unique<Slot<T>[]>(kSlab));
    Lot lot(kSlab);
    for (size_t i = 0; i < kSlab; ++i) lot[i] = &slabs_.back()[i];
    return lot;
  }

 private:
  static constexpr size_t kSlab = 128;

  std::mutex mutex_;
  std::vector<Lot> lots_;
  std::vector<std::unique_ptr<Slot<T>[]>> slabs_;
};

// A thread's list: a thread_local, one for each T (SLUICE_FAST_TLS).
template <typename T>
struct FreeSlots {
  Slot<T>* first = nullptr;
  size_t count = 0;
  // The thread's exit hook has run. Objects of other thread_local or static objects may still die.
  bool is_closed = false;

  // A thread keeps at most two lots, enough for a window or two, and shares the rest lot by lot.
  static constexpr size_t kLot = 4096;

  T* take() {
    if (first == nullptr) [[unlikely]]
      return refill();
    Slot<T>* const slot = first;
    first = slot->next;
    --count;
    return slot;
  }
  void give(T* object) {
    auto* const slot = static_cast<Slot<T>*>(object);
    if (first == nullptr || count + 1 >= 2 * kLot) [[unlikely]]
      return give_slowly(slot);
    slot->next = first;
    first = slot;
    ++count;
  }

 private:
  using Lot = typename SharedSlots<T>::Lot;

  [[gnu::noinline]] T* refill() {
    Lot lot = SharedSlots<T>::get().take();
    Slot<T>* const slot = lot.back();
    lot.pop_back();
    if (is_closed) {
      if (!lot.empty()) SharedSlots<T>::get().give(std::move(lot));
    } else {
      watch_thread_end();
      for (Slot<T>* other : lot) other->next = std::exchange(first, other);
      count = lot.size();
    }
    return slot;
  }

  // Called if the list is empty or has two lots.
  [[gnu::noinline]] void give_slowly(Slot<T>* slot) {
    if (is_closed) {
      SharedSlots<T>::get().give({slot});
      return;
    }
    watch_thread_end();
    slot->next = std::exchange(first, slot);
    if (++count >= 2 * kLot) SharedSlots<T>::get().give(take_free(kLot));
  }

  Lot take_free(size_t number) {
    Lot lot(number);
    for (Slot<T>*& slot : lot) slot = std::exchange(first, first->next);
    count -= number;
    return lot;
  }

  struct ThreadEnd {
    FreeSlots* list;
    ~ThreadEnd() {
      if (list->count > 0) SharedSlots<T>::get().give(list->take_free(list->count));
      list->is_closed = true;
    }
  };

  // Registers the thread-exit hook.
  void watch_thread_end() { thread_local ThreadEnd end{this}; }
};

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_FREE_SLOTS_H_
