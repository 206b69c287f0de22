#ifndef SLUICE_RUNTIME_CPU_CPU_BACKEND_H_
#define SLUICE_RUNTIME_CPU_CPU_BACKEND_H_

#include "runtime/backend.h"

namespace sluice::runtime {

// The host as a device. Its memory comes from runtime/memory/allocator.h.
Backend& cpu_backend();

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_CPU_CPU_BACKEND_H_
