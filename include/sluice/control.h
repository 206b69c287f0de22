// When pending work runs.
#ifndef SLUICE_CONTROL_H_
#define SLUICE_CONTROL_H_

namespace sluice {

// Submits everything that is pending, in every thread's queue, and waits for no result.
void flush();

// flush(), then waits until all submitted work is done. Throws Error for a failure that no read has
// reported yet, once.
void sync();

}  // namespace sluice

#endif  // SLUICE_CONTROL_H_
