// Loops over the threads of the process, which are OpenMP's (shared with oneDNN).
#ifndef SLUICE_RUNTIME_CPU_PARALLEL_H_
#define SLUICE_RUNTIME_CPU_PARALLEL_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace sluice {

// The most threads that parallel_for uses: SLUICE_THREADS, else OpenMP's own default, at least 1.
int num_threads();

// Calls f(begin, end) for ranges that cover [0, count), one a thread, each of at least `grain`
// except where count is less. Runs inline where that leaves one range, or within another
// parallel_for. `f` must not throw: that ends the process.
void parallel_for(int64_t count, int64_t grain,
                  absl::FunctionRef<void(int64_t begin, int64_t end)> f);

// Ends the threads that parallel_for and libraries have started for the calling thread, which keeps
// them otherwise. Not within parallel_for. Every thread that calls parallel_for has a team of its
// own, and while there are more of them than cores OpenMP lets none spin between loops: each small
// loop of the process then pays for waking its threads.
void release_threads();

// While it lives, threads that wait for a loop soon sleep: something else wants the cores. OpenMP
// has them spin, for milliseconds, only while they are no more than the cores, and this is a team
// of two that does nothing. Made and destroyed by a thread that runs no loops.
class SharedCores {
 public:
  SharedCores();
  ~SharedCores();
  SharedCores(const SharedCores&) = delete;
  SharedCores& operator=(const SharedCores&) = delete;
};

// While it lives, libraries that use OpenMP from this thread use at most `threads` threads.
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
