// Starts pending work of a GPU by itself when the host is busy with something else and the GPU has
// nothing to do. No result's bits depend on it; Config::deterministic turns it off.
#ifndef SLUICE_ENGINE_RECORD_IDLE_STARTER_H_
#define SLUICE_ENGINE_RECORD_IDLE_STARTER_H_

#include <atomic>

namespace sluice::engine {

class IdleStarter {
 public:
  // Ops are pending: a thread looks after them from now on.
  static void wake() {
    if (is_asleep_.load(std::memory_order_relaxed)) [[unlikely]]
      start();
  }

  // Returns when the thread has ended; it does not come back. For the end of the process.
  static void stop();

 private:
  static void start();
  static std::atomic<bool> is_asleep_;
  friend class Watch;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RECORD_IDLE_STARTER_H_
