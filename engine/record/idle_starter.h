// Starts a GPU's pending work while the host is busy elsewhere and the GPU is idle. It changes no
// result's bits. Config::deterministic turns it off.
#ifndef SLUICE_ENGINE_RECORD_IDLE_STARTER_H_
#define SLUICE_ENGINE_RECORD_IDLE_STARTER_H_

#include <atomic>

namespace sluice::engine {

class IdleStarter {
 public:
  // Ops are pending: wakes the thread that watches the queues.
  static void wake() {
    if (is_asleep_.load(std::memory_order_relaxed)) [[unlikely]]
      start();
  }

  // Ends the thread for good. For the end of the process.
  static void stop();

 private:
  static void start();
  static std::atomic<bool> is_asleep_;
  friend class Watch;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RECORD_IDLE_STARTER_H_
