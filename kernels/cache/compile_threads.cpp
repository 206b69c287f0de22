#include "kernels/cache/compile_threads.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "runtime/cpu/cores.h"

namespace sluice::kernels {
namespace {

// More would take cores from computation, and NVRTC's front end is single-threaded anyway.
constexpr size_t kMaxThreads = 4;

size_t max_threads() {
  static const size_t count = std::clamp<size_t>(available_cores() / 2, 1, kMaxThreads);
  return count;
}

std::atomic<CompileThreads*> instance{nullptr};

// LLVM and NVRTC construct static objects while they compile. exit() destroys those in reverse
// order, and a compilation still running then crashes or hangs. An atexit handler may come too
// late; the destructors of the main thread's thread-locals run before all of them.
struct MainThread {
  const bool is_main = gettid() == getpid();  // false if another thread loaded this library
  ~MainThread() {
    CompileThreads* const threads = instance.load();
    if (is_main && threads != nullptr) threads->stop();
  }
};

// Static initialisation constructs the thread-local on the thread that loads the library.
void watch_main_thread() { thread_local const MainThread main_thread; }
[[maybe_unused]] const bool watches_main_thread = (watch_main_thread(), true);

// A thread that was idle may take the core at once from whoever woke it, here for a compilation of
// milliseconds. One of a batch does not, and gets its share of the core all the same.
void run_as_batch() {
#ifdef SCHED_BATCH
  const sched_param priority{};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &priority);
#endif
}

}  // namespace

CompileThreads& CompileThreads::get() {
  static CompileThreads* const threads = [] {
    stop_at_exit();
    auto* made = new CompileThreads;
    instance = made;
    return made;
  }();
  return *threads;
}

void CompileThreads::add(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    waiting_.push_back(std::move(task));
    if (waiting_.size() > idle_) start_thread();
  }
  changed_.notify_all();
}

void CompileThreads::start_thread() {
  if (threads_.size() < max_threads()) threads_.emplace_back([this] { work(); });
}

void CompileThreads::work() {
  run_as_batch();
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    if (waiting_.empty()) changed_.notify_all();  // for wait()
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    --idle_;
    if (stopping_) return;
    std::function<void()> task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    // The compiler may have constructed more static objects.
    stop_at_exit();
    lock.lock();
  }
}

void CompileThreads::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock,
                [this] { return stopping_ || (waiting_.empty() && idle_ == threads_.size()); });
}

void CompileThreads::stop() {
  std::deque<std::function<void()>> dropped;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(waiting_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void CompileThreads::stop_at_exit() {
  constexpr int kRegistrations = 512;  // those of the first few compilations
  static std::atomic<int> registrations{0};
  if (registrations.fetch_add(1, std::memory_order_relaxed) < kRegistrations) {
    std::atexit([] { get().stop(); });
  }
}

}  // namespace sluice::kernels
