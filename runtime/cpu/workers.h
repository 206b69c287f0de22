// oneTBB's worker threads, for parallel loops. Apart, since ThreadSanitizer cannot follow a task
// through oneTBB: workers.cpp is not instrumented, and who uses it synchronises by its own means.
#ifndef SLUICE_RUNTIME_CPU_WORKERS_H_
#define SLUICE_RUNTIME_CPU_WORKERS_H_

namespace sluice {

// The threads that the program allows oneTBB, which are the cores of its affinity mask if it says
// nothing; 0 without oneTBB.
int allowed_threads();

// Has a worker call run(context, index), some time. 0 <= index < `count`, of two calls at the same
// time not the same. `count`, the most workers, is the same at every call of this function. Returns
// false if it does nothing, as so many calls wait already that the workers must be busy elsewhere,
// or in a process forked from one that had workers.
bool call_worker(int count, void (*run)(void* context, int index), void* context);

}  // namespace sluice

#endif  // SLUICE_RUNTIME_CPU_WORKERS_H_
