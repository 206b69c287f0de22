#include "runtime/cpu/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>

#include "runtime/cpu/cores.h"
#include "runtime/cpu/workers.h"

namespace sluice {
namespace {

using Function = absl::FunctionRef<void(int64_t begin, int64_t end)>;

// Many, so that a worker that is preempted holds up little, and the other threads take what it
// would have run.
constexpr int64_t kRangesPerThread = 16;
// How long a caller spins for ranges that workers have begun. Then it sleeps: a worker that was
// preempted can go on on its core.
constexpr std::chrono::microseconds kSpin{20};

// After kInVain loops that no worker joined and calls of workers_come() among them, the latter is
// false until it is kAgain. Then as many try again: a worker that sleeps comes after some loops.
constexpr unsigned kInVain = 32;
constexpr unsigned kAgain = 256;

thread_local bool in_loop = false;
// Both, since a worker last joined a loop.
std::atomic<unsigned> in_vain{0};

int default_threads() {
  const int allowed = allowed_threads();
  if (allowed == 0) return 1;
  if (const char* text = std::getenv("SLUICE_THREADS")) {
    const int given = std::atoi(text);
    if (given > 0) return given;
  }
  return std::min(allowed, available_cores());
}

// A parallel_for. Workers may come to it when it has ended: it is reused once they have left, and
// never deleted.
class Loop {
 public:
  // One that nobody uses, with the caller as a user.
  static Loop& acquire() {
    for (Loop* loop = newest_.load(std::memory_order_acquire); loop; loop = loop->older_) {
      int none = 0;
      if (loop->users_.compare_exchange_strong(none, 1, std::memory_order_acquire)) return *loop;
    }
    Loop* const loop = new Loop;
    loop->older_ = newest_.load(std::memory_order_relaxed);
    while (!newest_.compare_exchange_weak(loop->older_, loop, std::memory_order_acq_rel)) {
    }
    return *loop;
  }
  void release() { users_.fetch_sub(1, std::memory_order_release); }

  void begin(int64_t count, int64_t ranges, const Function& f) {
    f_ = &f;
    count_ = count;
    ranges_ = ranges;
    unfinished_.store(static_cast<int>(ranges), std::memory_order_relaxed);
    for (int i = 0; i < num_threads(); ++i) {
      shares_[i].next.store(first_of_share(i), std::memory_order_relaxed);
    }
  }

  void call_workers() {
    const int workers = num_threads() - 1;
    for (int64_t i = std::min<int64_t>(workers, ranges_ - 1); i > 0; --i) {
      users_.fetch_add(1, std::memory_order_release);
      const auto join = [](void* context, int index) {
        Loop* const loop = static_cast<Loop*>(context);
        loop->users_.load(std::memory_order_acquire);
        loop->work(1 + index);
        loop->release();
      };
      if (!call_worker(workers, join, this)) return release();
    }
  }

  // Runs ranges until all are begun: first those of the thread's own share, which its caches may
  // hold from the loop before, then what is left of the others'. Returns how
  // many it ran.
  int work(int thread) noexcept {
    in_loop = true;
    int finished = 0;
    for (int i = 0; i < num_threads(); ++i) {
      const int owner = (thread + i) % num_threads();
      std::atomic<int64_t>& next = shares_[owner].next;
      const int64_t end = first_of_share(owner + 1);
      while (next.load(std::memory_order_relaxed) < end) {
        const int64_t range = next.fetch_add(1, std::memory_order_relaxed);
        if (range >= end) break;
        // `f_` is there until the range is finished.
        (*f_)(begin_of(range), begin_of(range + 1));
        ++finished;
      }
    }
    in_loop = false;
    if (finished > 0 && unfinished_.fetch_sub(finished, std::memory_order_acq_rel) == finished) {
      unfinished_.notify_one();
    }
    return finished;
  }

  // Waits for the ranges that workers have begun.
  void finish() {
    if (unfinished_.load(std::memory_order_acquire) == 0) return;
    const auto sleep = std::chrono::steady_clock::now() + kSpin;
    while (std::chrono::steady_clock::now() < sleep) {
      if (unfinished_.load(std::memory_order_acquire) == 0) return;
    }
    while (const int left = unfinished_.load(std::memory_order_acquire)) unfinished_.wait(left);
  }

 private:
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};  // the first range that no thread has begun
  };

  int64_t first_of_share(int64_t share) const { return ranges_ * share / num_threads(); }
  int64_t begin_of(int64_t range) const {
    return count_ / ranges_ * range + std::min(range, count_ % ranges_);
  }

  // Those made so far. (Leak checkers find them here, but not in oneTBB's memory.)
  static inline std::atomic<Loop*> newest_{nullptr};

  Loop* older_ = nullptr;
  const Function* f_ = nullptr;
  int64_t count_ = 0;
  int64_t ranges_ = 0;
  std::unique_ptr<Share[]> shares_{new Share[num_threads()]};  // by thread
  std::atomic<int> unfinished_{0};                             // ranges
  std::atomic<int> users_{1};
};

}  // namespace

int num_threads() {
  static const int count = default_threads();
  return count;
}

void parallel_for(int64_t count, int64_t grain, Function f) {
  if (count <= 0) return;
  const int64_t ranges =
      std::min(num_threads() * kRangesPerThread, count / std::max<int64_t>(1, grain));
  if (ranges <= 1 || num_threads() == 1 || in_loop) {
    return [&]() noexcept { f(0, count); }();
  }
  Loop& loop = Loop::acquire();
  loop.begin(count, ranges, f);
  loop.call_workers();
  if (loop.work(0) == ranges) {
    in_vain.fetch_add(1, std::memory_order_relaxed);
  } else {
    in_vain.store(0, std::memory_order_relaxed);
  }
  loop.finish();
  loop.release();
}

bool workers_come() { return in_vain.fetch_add(1, std::memory_order_relaxed) % kAgain < kInVain; }

}  // namespace sluice
