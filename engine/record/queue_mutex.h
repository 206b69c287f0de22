// A mutex that takes two atomic instructions where nobody else wants it: every op takes one.
#ifndef SLUICE_ENGINE_RECORD_QUEUE_MUTEX_H_
#define SLUICE_ENGINE_RECORD_QUEUE_MUTEX_H_

#include <atomic>
#include <cstdint>

namespace sluice::engine {

// For std::lock_guard and std::unique_lock. The third mutex of Drepper, "Futexes Are Tricky":
// threads that have to wait sleep.
class QueueMutex {
 public:
  void lock() {
    if (!try_lock()) [[unlikely]]
      lock_contended();
  }
  bool try_lock() {
    uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire);
  }
  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kWanted) [[unlikely]]
      state_.notify_one();
  }

 private:
  enum State : uint32_t { kFree, kHeld, kWanted };

  void lock_contended() {
    while (state_.exchange(kWanted, std::memory_order_acquire) != kFree) state_.wait(kWanted);
  }

  std::atomic<uint32_t> state_{kFree};
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RECORD_QUEUE_MUTEX_H_
