#include "runtime/cpu/cpu_stream.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "runtime/cpu/parallel.h"

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
    if (mode == SubmitMode::kCallerWaits || batch->cost() < kHandOffNanoseconds) {
      uint64_t last = completed_.load(std::memory_order_acquire);
      // If it was the last that was submitted, nothing is under way and this one runs here. Later
      // submissions queue up behind its ticket: `completed_` tells them it is not done.
      if (submitted_.compare_exchange_strong(last, last + 1)) {
        execute(*batch);
        complete(last + 1, *batch);
        return last + 1;
      }
    }
    std::unique_lock lock(mutex_);
    const uint64_t ticket = submitted_.fetch_add(1) + 1;
    queue_.push_back(std::move(batch));
    num_interested_.fetch_add(1);
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
    num_interested_.fetch_add(1);
    changed_.wait(lock, [&] { return done(ticket); });
    num_interested_.fetch_sub(1);
  }

  bool done(uint64_t ticket) const override { return completed_.load() >= ticket; }

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
    if (!batch.failures().empty()) {
      std::lock_guard lock(mutex_);
      failures_.insert(failures_.end(), batch.failures().begin(), batch.failures().end());
    }
    completed_.store(ticket);
    // Who becomes interested after this sees the new value: these two are sequentially consistent
    // with becoming interested and looking.
    if (num_interested_.load() == 0) return;
    // Who has not seen it is waiting once the lock is to be had.
    { std::lock_guard lock(mutex_); }
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
      num_interested_.fetch_sub(1);
      const uint64_t ticket = completed_.load(std::memory_order_relaxed) + 1;
      lock.unlock();
      execute(*batch);
      complete(ticket, *batch);
      batch.reset();
      lock.lock();
    }
  }

  bool ready() const {
    return !queue_.empty() && completed_.load() + queue_.size() == submitted_.load();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<CommandBatch>> queue_;
  std::vector<FailureRef> failures_;
  std::atomic<uint64_t> submitted_{0};
  std::atomic<uint64_t> completed_{0};
  // Threads that wait for a ticket, and batches in the queue, which wait for those before.
  std::atomic<int> num_interested_{0};
  bool stopping_ = false;
  std::thread worker_;
};

}  // namespace

std::unique_ptr<Stream> make_cpu_stream() { return std::make_unique<CpuStream>(); }

}  // namespace sluice::runtime
