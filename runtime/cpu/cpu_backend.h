#ifndef SLUICE_RUNTIME_CPU_CPU_BACKEND_H_
#define SLUICE_RUNTIME_CPU_CPU_BACKEND_H_

#include "runtime/backend.h"

namespace sluice::runtime {

// The host itself; its memory is that of runtime/allocator.h.
Backend& cpu_backend();

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_CPU_CPU_BACKEND_H_
