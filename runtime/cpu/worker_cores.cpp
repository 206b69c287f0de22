#include "runtime/cpu/worker_cores.h"

#include <unistd.h>

namespace sluice {
namespace {

constexpr std::chrono::milliseconds kBetweenChanges{1};

}  // namespace

// Takes the thread away when it ends: another may be given its number then.
struct WorkerCores::Membership {
  WorkerCores* workers = nullptr;

  ~Membership() {
    if (workers == nullptr) return;
    const std::lock_guard lock(workers->mutex_);
    std::erase_if(workers->workers_, [](const Worker& w) { return w.thread == gettid(); });
  }
};

void WorkerCores::add_this_thread() {
  thread_local Membership membership;
  if (membership.workers != nullptr) return;
  Worker worker{.thread = gettid(), .allowed = {}, .set = {}};
  // Fails on machines of more cores than a cpu_set_t has: their workers stay where they are.
  if (sched_getaffinity(0, sizeof(worker.allowed), &worker.allowed) == 0) {
    worker.set = worker.allowed;
    const std::lock_guard lock(mutex_);
    workers_.push_back(worker);
    keep_off(core_.load(std::memory_order_relaxed), workers_.back());
  }
  membership.workers = this;
}

void WorkerCores::keep_off_this_core() {
  const int core = sched_getcpu();
  if (core == core_.load(std::memory_order_relaxed) || core < 0) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  const auto now = std::chrono::steady_clock::now();
  if (!lock.owns_lock() || workers_.empty() || now - changed_ < kBetweenChanges) return;
  changed_ = now;
  core_.store(core, std::memory_order_relaxed);
  for (Worker& worker : workers_) keep_off(core, worker);
}

void WorkerCores::keep_off(int core, Worker& worker) {
  cpu_set_t current;
  if (sched_getaffinity(worker.thread, sizeof(current), &current) != 0) return;
  if (!CPU_EQUAL(&current, &worker.set)) worker.allowed = current;
  worker.set = worker.allowed;
  if (core >= 0 && CPU_COUNT(&worker.allowed) > 1) CPU_CLR(core, &worker.set);
  if (sched_setaffinity(worker.thread, sizeof(worker.set), &worker.set) != 0) {
    worker.set = current;
  }
}

}  // namespace sluice
