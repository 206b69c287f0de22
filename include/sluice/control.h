// When pending work runs.
#ifndef SLUICE_CONTROL_H_
#define SLUICE_CONTROL_H_

#pragma GCC visibility push(default)
namespace sluice {

// Submits everything pending in every thread's queue. Does not wait.
void flush();

// Calls flush() and waits until all submitted work is done. Throws Error for the first failure that
// no read has reported, once.
void sync();

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_CONTROL_H_
