// The values of a buffer as the host reads them in place, where the buffer does not have them so.
#ifndef SLUICE_RUNTIME_HOST_COPIES_H_
#define SLUICE_RUNTIME_HOST_COPIES_H_

#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/layout.h"
#include "runtime/memory/buffer.h"

namespace sluice::runtime {

// The copy of what `layout` says of the buffer, made by the first call for this layout: `fill` is
// called with row-major host memory of `bytes` bytes. It lives until the buffer is released or
// taken over. Thread-safe. The error is the allocator's, or that of `fill`.
absl::StatusOr<const void*> host_copy(Buffer* buffer, const Layout& layout, size_t bytes,
                                      absl::FunctionRef<absl::Status(void*)> fill);

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_HOST_COPIES_H_
