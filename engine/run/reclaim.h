// Memory that is given back when a device has no more.
#ifndef SLUICE_ENGINE_RUN_RECLAIM_H_
#define SLUICE_ENGINE_RUN_RECLAIM_H_

#include <cstdint>

#include <sluice/device.h>

namespace sluice::engine {

// Drops handles on values of `device` that can be computed again: of `bytes` or more, if there are
// as many. False if it dropped none. Runs on the thread that needs the memory, maybe under the lock
// of that thread's queue: it must not record.
using Reclaimer = bool (*)(Device device, int64_t bytes);

// Null until a frontend that holds such values sets it.
void set_reclaimer(Reclaimer reclaimer);
bool can_reclaim();
bool reclaim(Device device, int64_t bytes);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RUN_RECLAIM_H_
