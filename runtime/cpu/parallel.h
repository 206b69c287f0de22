// Parallel loops over OpenMP's threads, which oneDNN shares.
//
// libgomp's waiting policy. Every thread that runs a parallel loop owns a team of worker threads.
// Between loops libgomp's workers busy-wait for milliseconds, but only while the process has no
// more of them than cores; otherwise they sleep almost at once, and every small loop pays for waking them.
// Two consequences are managed here:
//  - Teams that are no longer needed must go, or the others stop busy-waiting. release_threads()
//    ends the calling thread's team. CpuStream calls it when work moves from the caller to the
//    stream's worker, and when the worker has been idle for 2 ms.
//  - While kernels are compiled, busy-waiting workers take cores from the compiler. SharedCores
//    exceeds the limit on purpose, which puts waiting workers to sleep. CompileThreads holds one
//    from when a plan has new kernels (expect()) until it has been idle for 10 ms.
#ifndef SLUICE_RUNTIME_CPU_PARALLEL_H_
#define SLUICE_RUNTIME_CPU_PARALLEL_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace sluice {

// The maximum number of threads of parallel_for: SLUICE_THREADS, else OpenMP's default; at least 1.
int num_threads();

// Partitions [0, count) into ranges of at least `grain` (or one of `count`) and calls f(begin, end)
// for each, on a thread each. Runs inline if there is one range or within another parallel_for. An
// exception from `f` ends the process.
void parallel_for(int64_t count, int64_t grain,
                  absl::FunctionRef<void(int64_t begin, int64_t end)> f);

// Ends the calling thread's team, which the next loop starts again. Not within parallel_for.
void release_threads();

// Disables libgomp's busy-wait during its lifetime, by an idle team of two that exceeds the limit.
// Constructed and destroyed by one thread, which runs no loops.
class SharedCores {
 public:
  SharedCores();
  ~SharedCores();
  SharedCores(const SharedCores&) = delete;
  SharedCores& operator=(const SharedCores&) = delete;
};

// Limits OpenMP loops that libraries run on this thread to `threads` threads.
class ScopedThreads {
 public:
  explicit ScopedThreads(int threads);
  ~ScopedThreads();
  ScopedThreads(const ScopedThreads&) = delete;
  ScopedThreads& operator=(const ScopedThreads&) = delete;

 private:
  int before_;
};

}  // namespace sluice

#endif  // SLUICE_RUNTIME_CPU_PARALLEL_H_
