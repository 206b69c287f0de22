// Parallel loops on oneTBB's worker threads; serial without oneTBB.
#ifndef SLUICE_RUNTIME_CPU_PARALLEL_H_
#define SLUICE_RUNTIME_CPU_PARALLEL_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace sluice {

// The maximum number of threads of parallel_for: SLUICE_THREADS, else available_cores() and what
// the program allows oneTBB; at least 1, and 1 without oneTBB. Determined once.
int num_threads();

// Partitions [0, count) into ranges of at least `grain` (or one of `count`) and calls f(begin, end)
// once for each, on the calling thread and on workers that are free. There are more ranges than
// threads. The caller runs every range that no worker has begun: it never waits for a thread to
// start, so it may hold locks that other threads want, as long as `f` needs none of them. While it
// waits for a range that a worker has begun, it runs nothing else.
//
// Runs inline if there is one range, within another parallel_for, and in a process forked from one
// that had workers. May be called in parallel regions of a program's own. An exception from `f`
// ends the process.
void parallel_for(int64_t count, int64_t grain,
                  absl::FunctionRef<void(int64_t begin, int64_t end)> f);

// Whether calling workers has been of use lately: false if none joined any of the last loops, as on
// a busy machine, but now and then true, to see whether that holds. For loops so short that calling
// workers in vain takes longer than they gain.
bool workers_come();

}  // namespace sluice

#endif  // SLUICE_RUNTIME_CPU_PARALLEL_H_
