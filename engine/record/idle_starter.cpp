#include "engine/record/idle_starter.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "engine/record/queue.h"

namespace sluice::engine {

using Clock = std::chrono::steady_clock;

// The host is taken to be busy elsewhere when it has recorded nothing for so long.
constexpr auto kPatience = std::chrono::milliseconds(2);
constexpr auto kTick = std::chrono::milliseconds(1);
// After so many ticks without a recorded op, the thread sleeps until it is woken.
constexpr int kTicksBeforeSleep = 100;

class Watch {
 public:
  static Watch& get() {
    static Watch* watch = new Watch;
    return *watch;
  }

  void start() {
    std::lock_guard lock(mutex_);
    if (has_stopped_) return;
    IdleStarter::is_asleep_.store(false, std::memory_order_relaxed);
    if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
    changed_.notify_one();
  }

  void stop() {
    {
      std::lock_guard lock(mutex_);
      has_stopped_ = true;
      changed_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  // The state of a queue at the last look.
  struct Seen {
    int64_t ops = 0;
    Clock::time_point since;
    bool is_settled = true;  // nothing to do until more ops are recorded
  };

  void watch() {
    std::unique_lock lock(mutex_);
    int quiet_ticks = 0;
    while (!has_stopped_) {
      if (quiet_ticks < kTicksBeforeSleep) {
        changed_.wait_for(lock, kTick);
      } else {
        IdleStarter::is_asleep_.store(true, std::memory_order_relaxed);
        changed_.wait(lock, [&] { return has_stopped_ || !IdleStarter::is_asleep_.load(); });
        quiet_ticks = 0;
      }
      lock.unlock();
      ++quiet_ticks;
      for (Queue* queue : Queue::all()) {
        if (look_after(queue)) quiet_ticks = 0;
      }
      lock.lock();
    }
  }

  // True if the queue needs another look even if nothing is recorded.
  bool look_after(Queue* queue) {
    Seen& seen = seen_[queue];
    const int64_t ops = queue->ops_recorded();
    if (ops != seen.ops) {
      seen = {ops, Clock::now(), false};
    } else if (!seen.is_settled && Clock::now() - seen.since >= kPatience) {
      seen.is_settled = queue->start_if_idle();
    }
    return !seen.is_settled;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_stopped_ = false;
  std::thread thread_;
  absl::flat_hash_map<Queue*, Seen> seen_;  // used by thread_ only
};

std::atomic<bool> IdleStarter::is_asleep_{true};

void IdleStarter::start() { Watch::get().start(); }
void IdleStarter::stop() { Watch::get().stop(); }

}  // namespace sluice::engine
