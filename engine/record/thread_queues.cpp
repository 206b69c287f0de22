// The queues of each thread.
#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "absl/container/inlined_vector.h"
#include "engine/engine.h"
#include "engine/record/idle_starter.h"
#include "engine/record/queue.h"
#include "runtime/fast_tls.h"

namespace sluice::engine {
namespace {

// All queues. A new thread reuses those of threads that have ended.
class Registry {
 public:
  static Registry& get() {
    static Registry* registry = new Registry;
    return *registry;
  }

  Queue* acquire(Device device) {
    std::lock_guard lock(mutex_);
    const auto idle = std::find_if(idle_.begin(), idle_.end(),
                                   [&](const Queue* queue) { return queue->device() == device; });
    if (idle != idle_.end()) {
      Queue* queue = *idle;
      idle_.erase(idle);
      return queue;
    }
    queues_.push_back(std::make_unique<Queue>(device));
    wait_at_exit_on(device);
    return queues_.back().get();
  }

  void give_back(Queue* queue) {
    std::lock_guard lock(mutex_);
    idle_.push_back(queue);
  }

  // Whether threads have other queues of its device.
  bool is_alone(const Queue* queue) {
    std::lock_guard lock(mutex_);
    const auto is_other = [&](const Queue* other) {
      return other != queue && other->device() == queue->device();
    };
    const auto others = std::count_if(queues_.begin(), queues_.end(),
                                      [&](const auto& other) { return is_other(other.get()); });
    return others == std::count_if(idle_.begin(), idle_.end(), is_other);
  }

  std::vector<Queue*> all() {
    std::lock_guard lock(mutex_);
    std::vector<Queue*> result;
    for (const auto& queue : queues_) result.push_back(queue.get());
    return result;
  }

 private:
  // A device's library may have been loaded, and for GPUs is, after the CPU's first queue.
  static void wait_at_exit_on(Device device) {
    if (device.type() == DeviceType::kCpu) {
      [[maybe_unused]] static const bool once = (wait_at_exit(), true);
    } else {
      [[maybe_unused]] static const bool once = (wait_at_exit(), true);
    }
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<Queue*> idle_;
};

}  // namespace

// A thread's queues, one per device that it has recorded for.
struct ThreadQueues {
  absl::InlinedVector<Queue*, 2> queues;
  ~ThreadQueues() {
    Queue::latest_ = nullptr;
    for (Queue* queue : queues) Registry::get().give_back(queue);
  }
};

SLUICE_FAST_TLS Queue* Queue::latest_ = nullptr;

Queue& Queue::find_current(Device device) {
  thread_local ThreadQueues mine;
  const auto known = std::find_if(mine.queues.begin(), mine.queues.end(),
                                  [&](const Queue* queue) { return queue->device() == device; });
  if (known != mine.queues.end()) {
    latest_ = *known;
  } else {
    latest_ = Registry::get().acquire(device);
    mine.queues.push_back(latest_);
  }
  return *latest_;
}

bool Queue::is_alone() const { return Registry::get().is_alone(this); }

std::vector<Queue*> Queue::all() { return Registry::get().all(); }

void wait_at_exit() {
  std::atexit([] {
    IdleStarter::stop();
    for (Queue* queue : Queue::all()) queue->stream().wait(queue->stream().next_ticket() - 1);
  });
}

}  // namespace sluice::engine
