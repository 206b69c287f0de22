// How the CPU runs library calls.
#ifndef SLUICE_KERNELS_LIBRARY_LIBRARY_H_
#define SLUICE_KERNELS_LIBRARY_LIBRARY_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "fusion/lower/step.h"

namespace sluice::kernels {

// Runs a call on the calling thread and workers, and waits for it. `buffers`: the
// addresses of the call's.
absl::Status run_library(const fusion::LibraryCall& call, absl::Span<void* const> buffers);

// Likewise a call of one kind.
#define SLUICE_LIBRARY_KIND(id, name) \
  absl::Status run_##name(const fusion::LibraryCall& call, absl::Span<void* const> buffers);
#include "fusion/ir/library.def"

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_LIBRARY_H_
