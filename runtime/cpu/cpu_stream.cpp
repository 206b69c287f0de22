#include "runtime/cpu/cpu_stream.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "runtime/cpu/cores.h"

namespace sluice::runtime {
namespace {

// Handing a batch to the worker costs tens of microseconds and moves its data to another core's
// cache: shorter batches run on the caller's thread.
constexpr double kHandOffNanoseconds = 500e3;

// For the worker, which otherwise only takes turns with the caller.
bool has_another_core() {
  static const bool has = available_cores() > 1;
  return has;
}

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
    if (mode == SubmitMode::kCallerWaits || !has_another_core() ||
        batch->cost() < kHandOffNanoseconds) {
      uint64_t last = completed_.load(std::memory_order_acquire);
      // If every submitted batch is complete, this one runs here. Later submissions queue behind
      // its ticket, since `completed_` does not include it yet.
      if (submitted_.compare_exchange_strong(last, last + 1)) {
        execute(*batch);
        complete(last + 1, &batch);
        return last + 1;
      }
    }
    std::unique_lock lock(mutex_);
    const uint64_t ticket = submitted_.fetch_add(1) + 1;
    queue_.push_back(std::move(batch));
    num_waiters_.fetch_add(1);
    if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
    lock.unlock();
    changed_.notify_all();
    return ticket;
  }

  uint64_t next_ticket() const override { return submitted_.load(std::memory_order_relaxed) + 1; }

  void wait(uint64_t ticket) override {
    if (done(ticket)) return;
    std::unique_lock lock(mutex_);
    num_waiters_.fetch_add(1);
    changed_.wait(lock, [&] { return done(ticket); });
    num_waiters_.fetch_sub(1);
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

  // The batch goes first: whoever waits for it finds its memory free.
  void complete(uint64_t ticket, std::unique_ptr<CommandBatch>* batch) {
    const std::vector<FailureRef>& failures = (*batch)->failures();
    if (!failures.empty()) {
      std::lock_guard lock(mutex_);
      failures_.insert(failures_.end(), failures.begin(), failures.end());
    }
    batch->reset();
    completed_.store(ticket);
    // Sequentially consistent: a waiter that registers after this load sees the new value.
    if (num_waiters_.load() == 0) return;
    // A waiter that has missed the new value holds the lock until it waits.
    { std::lock_guard lock(mutex_); }
    changed_.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      // A batch may still be running on a caller's thread, ahead of the queue.
      changed_.wait(lock, [this] { return ready() || (stopping_ && queue_.empty()); });
      if (!ready()) return;
      std::unique_ptr<CommandBatch> batch = std::move(queue_.front());
      queue_.pop_front();
      num_waiters_.fetch_sub(1);
      const uint64_t ticket = completed_.load(std::memory_order_relaxed) + 1;
      lock.unlock();
      execute(*batch);
      complete(ticket, &batch);
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
  // Threads waiting for a ticket, and queued batches, which wait for their predecessors.
  std::atomic<int> num_waiters_{0};
  bool stopping_ = false;
  std::thread worker_;
};

}  // namespace

std::unique_ptr<Stream> make_cpu_stream() { return std::make_unique<CpuStream>(); }

}  // namespace sluice::runtime
