// The threads that kernels are compiled on beside the caller's.
#ifndef SLUICE_KERNELS_CACHE_COMPILE_THREADS_H_
#define SLUICE_KERNELS_CACHE_COMPILE_THREADS_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice::kernels {

// A few for the whole process, started as they are needed. Thread-safe.
class CompileThreads {
 public:
  static CompileThreads& get();

  // Runs tasks in order, several at a time. When the process ends, those under way are waited for;
  // others, then and from then on, are dropped.
  void add(std::function<void()> task);

  // Tasks will be added in a moment: a thread makes ready for them, and threads that wait for loops
  // do not hold cores any more.
  void expect();

  // Returns once no task is under way or waiting.
  void wait();

  // Waits for what is under way, for good. exit() does so: before all else if the main thread calls
  // it, else by handlers.
  void stop();

  // Registers such a handler, after others that make sense only when no task runs any more: the
  // latest goes first.
  static void stop_at_exit();

 private:
  void start_thread();  // if there may be one more
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  size_t idle_ = 0;  // threads that wait for a task
  bool expecting_ = false;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_CACHE_COMPILE_THREADS_H_
