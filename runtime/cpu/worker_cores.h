// Where the system may run worker threads: not on the core of the thread that calls them.
//
// Linux may wake a thread on the core of the one that wakes it, although another core is idle: in
// virtual machines a core that sleeps looks like one that the host has taken away. The worker then
// waits for the caller's time slice to end, milliseconds.
#ifndef SLUICE_RUNTIME_CPU_WORKER_CORES_H_
#define SLUICE_RUNTIME_CPU_WORKER_CORES_H_

#include <sched.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

namespace sluice {

// The workers' affinity masks. Those that the program or its user gives them while they run stay
// in force: a core is taken from them and given back. Every function may be called by any thread;
// an object must outlive its workers.
class WorkerCores {
 public:
  // To be called by each worker whenever it begins to work.
  void add_this_thread();

  // Keeps the workers off the calling thread's core, as long as they may use another one. Does
  // nothing most of the time: if they are kept off it already, and within a millisecond of the last
  // change, so that threads that call workers in turn do not change masks all the time.
  void keep_off_this_core();

 private:
  struct Membership;
  struct Worker {
    pid_t thread;
    cpu_set_t allowed;  // by others
    cpu_set_t set;      // by this object
  };

  void keep_off(int core, Worker& worker);

  std::atomic<int> core_{-1};  // that they are kept off
  std::mutex mutex_;           // of what follows
  std::vector<Worker> workers_;
  std::chrono::steady_clock::time_point changed_;
};

}  // namespace sluice

#endif  // SLUICE_RUNTIME_CPU_WORKER_CORES_H_
