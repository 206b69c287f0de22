#include "kernels/cache/compile_threads.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/cpu/parallel.h"

namespace sluice::kernels {
namespace {

// More would take cores from what computes; NVRTC's front end runs on one thread at a time anyway.
constexpr size_t kMaxThreads = 4;

size_t max_threads() {
  return std::clamp<size_t>(std::thread::hardware_concurrency() / 2, 1, kMaxThreads);
}

// How long a thread without a task keeps its claim to a core.
constexpr std::chrono::milliseconds kKeepsCores{10};

std::atomic<CompileThreads*> instance{nullptr};

// LLVM and NVRTC make static objects while they compile, the more the longer they run. exit()
// destroys them, the latest first, and a compilation that is under way then crashes or never ends.
// No handler can be sure to come before that; destructors of the main thread's own objects do.
struct MainThread {
  const bool is_main = gettid() == getpid();  // another one, if it has loaded this library
  ~MainThread() {
    CompileThreads* const threads = instance.load();
    if (is_main && threads != nullptr) threads->stop();
  }
};

// Made by static initialisation.
void watch_main_thread() { thread_local const MainThread main_thread; }
[[maybe_unused]] const bool watches_main_thread = (watch_main_thread(), true);

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

void CompileThreads::expect() {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    expecting_ = true;
    if (threads_.empty()) start_thread();
  }
  changed_.notify_all();
}

void CompileThreads::start_thread() {
  if (threads_.size() < max_threads()) threads_.emplace_back([this] { work(); });
}

void CompileThreads::work() {
  std::optional<SharedCores> cores;
  std::unique_lock lock(mutex_);
  const auto wakes = [&] {
    return stopping_ || !waiting_.empty() || (expecting_ && !cores.has_value());
  };
  while (true) {
    ++idle_;
    if (waiting_.empty()) changed_.notify_all();  // of wait()
    if (cores.has_value() && !changed_.wait_for(lock, kKeepsCores, wakes)) {
      lock.unlock();
      cores.reset();
      lock.lock();
    }
    changed_.wait(lock, wakes);
    --idle_;
    if (stopping_) return;
    expecting_ = false;
    if (!cores.has_value()) {
      lock.unlock();
      cores.emplace();
      lock.lock();
    }
    if (waiting_.empty()) continue;
    std::function<void()> task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    // The compiler may have made more static objects.
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
  constexpr int kRegistrations = 16;
  static std::atomic<int> registrations{0};
  if (registrations.fetch_add(1, std::memory_order_relaxed) < kRegistrations) {
    std::atexit([] { get().stop(); });
  }
}

}  // namespace sluice::kernels
