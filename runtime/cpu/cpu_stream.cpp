#include "sluice/runtime/cpu/cpu_stream.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "sluice/runtime/cpu/parallel.h"

namespace sluice::runtime {
namespace {

// A hand-off to the worker and back costs tens of microseconds, and moves the data to another
// core's cache: the batch has to be worth it.
constexpr double kHandOffNanoseconds = 500e3;

// How long the worker keeps its team of threads without work.
constexpr std::chrono::milliseconds kKeepsThreads{2};

class CpuStream : public Stream {
 public:
  ~CpuStream() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (worker_.joinable()) worker_.join();
  }

  uint64_t submit(std::unique_ptr<CommandBatch> batch, SubmitMode mode) override {
    std::unique_lock lock(mutex_);
    const uint64_t ticket = submitted_.load(std::memory_order_relaxed) + 1;
    submitted_.store(ticket, std::memory_order_relaxed);
    const bool idle = completed_.load(std::memory_order_relaxed) + 1 == ticket;
    const bool runs_here =
        idle && (mode == SubmitMode::kCallerWaits || batch->cost() < kHandOffNanoseconds);
    if (runs_here) {
      // Later submissions queue up behind this ticket: `completed_` tells them it is not done.
      lock.unlock();
      execute(*batch);
      complete(ticket, *batch);
      return ticket;
    }
    queue_.push_back(std::move(batch));
    if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
    lock.unlock();
    release_threads();  // the worker has its own
    changed_.notify_all();
    return ticket;
  }

  uint64_t next_ticket() const override { return submitted_.load(std::memory_order_relaxed) + 1; }

  void wait(uint64_t ticket) override {
    if (done(ticket)) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done(ticket); });
  }

  bool done(uint64_t ticket) const override {
    return completed_.load(std::memory_order_acquire) >= ticket;
  }

  std::vector<FailureRef> take_failures() override {
    std::lock_guard lock(mutex_);
    return std::exchange(failures_, {});
  }

 private:
  static void execute(CommandBatch& batch) {
    for (const Event& event : batch.waits_for()) runtime::wait(event);
    batch.run();
    batch.finish();
  }

  void complete(uint64_t ticket, const CommandBatch& batch) {
    {
      std::lock_guard lock(mutex_);
      failures_.insert(failures_.end(), batch.failures().begin(), batch.failures().end());
      completed_.store(ticket, std::memory_order_release);
    }
    changed_.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      // A batch that runs on a caller's thread comes before the first in the queue.
      auto wakes = [this] { return ready() || (stopping_ && queue_.empty()); };
      if (!changed_.wait_for(lock, kKeepsThreads, wakes)) {
        lock.unlock();
        release_threads();
        lock.lock();
        changed_.wait(lock, wakes);
      }
      if (!ready()) return;
      std::unique_ptr<CommandBatch> batch = std::move(queue_.front());
      queue_.pop_front();
      const uint64_t ticket = completed_.load(std::memory_order_relaxed) + 1;
      lock.unlock();
      execute(*batch);
      complete(ticket, *batch);
      batch.reset();
      lock.lock();
    }
  }

  bool ready() const {
    return !queue_.empty() && completed_.load(std::memory_order_relaxed) + queue_.size() ==
                                  submitted_.load(std::memory_order_relaxed);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<CommandBatch>> queue_;
  std::vector<FailureRef> failures_;
  std::atomic<uint64_t> submitted_{0};
  std::atomic<uint64_t> completed_{0};
  bool stopping_ = false;
  std::thread worker_;
};

}  // namespace

std::unique_ptr<Stream> make_cpu_stream() { return std::make_unique<CpuStream>(); }

}  // namespace sluice::runtime
