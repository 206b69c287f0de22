#include "runtime/cpu/workers.h"

#if SLUICE_HAVE_TBB

#include <pthread.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <memory>

#include "runtime/cpu/worker_cores.h"

namespace sluice {
namespace {

using tbb::global_control;

std::atomic<bool> is_forked{false};

// The arena has no place for callers: joining a full one waits, and a thread that waits in an arena
// may be given another's task.
class Workers {
 public:
  explicit Workers(int count) : max_waiting_(4 * (count + 1)), arena_(count, 0) {
    if (count >= allowed_threads()) {
      more_ = std::make_unique<global_control>(global_control::max_allowed_parallelism, count + 1);
    }
    pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
  }

  bool call(void (*run)(void* context, int index), void* context) {
    if (is_forked.load(std::memory_order_relaxed) ||
        waiting_.load(std::memory_order_relaxed) >= max_waiting_) {
      return false;
    }
    cores_.keep_off_this_core();
    waiting_.fetch_add(1, std::memory_order_relaxed);
    arena_.enqueue([this, run, context] {
      waiting_.fetch_sub(1, std::memory_order_relaxed);
      cores_.add_this_thread();
      run(context, tbb::this_task_arena::current_thread_index());
    });
    return true;
  }

 private:
  const int max_waiting_;
  std::atomic<int> waiting_{0};  // calls that no worker has begun
  WorkerCores cores_;
  std::unique_ptr<global_control> more_;
  tbb::task_arena arena_;
};

}  // namespace

int allowed_threads() {
  return static_cast<int>(global_control::active_value(global_control::max_allowed_parallelism));
}

bool call_worker(int count, void (*run)(void* context, int index), void* context) {
  static Workers* const workers = new Workers(count);  // they may run until the process has ended
  return workers->call(run, context);
}

}  // namespace sluice

#else

namespace sluice {

int allowed_threads() { return 0; }
bool call_worker(int, void (*)(void*, int), void*) { return false; }

}  // namespace sluice

#endif
