// Background threads that compile kernels.
#ifndef SLUICE_KERNELS_CACHE_COMPILE_THREADS_H_
#define SLUICE_KERNELS_CACHE_COMPILE_THREADS_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice::kernels {

// A thread pool for the whole process: half as many threads as cores, at most four, started on
// demand. Thread-safe.
class CompileThreads {
 public:
  static CompileThreads& get();

  // Enqueues a task. Tasks start in order and run concurrently. At process exit running tasks are
  // waited for; queued and later ones are dropped.
  void add(std::function<void()> task);

  // Returns once no task is running or queued.
  void wait();

  // Drops queued tasks and joins all threads, for good. exit() calls it: on the main thread before
  // any static destructor runs, on another thread through the handlers of stop_at_exit().
  void stop();

  // Registers stop() to run before handlers registered earlier. Compilers register static objects
  // as they run, so it is called again after each task, and for each pass of a compiler that tells.
  static void stop_at_exit();

 private:
  void start_thread();  // unless the limit is reached
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  size_t idle_ = 0;  // threads waiting for a task
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_CACHE_COMPILE_THREADS_H_
