// A device as the engine sees it: memory, streams, copies.
#ifndef SLUICE_RUNTIME_BACKEND_H_
#define SLUICE_RUNTIME_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include <sluice/device.h>
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/memory/buffer.h"
#include "runtime/memory/memory_stats.h"
#include "runtime/stream.h"

namespace sluice::runtime {

// One per device in use. Thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;

  // The stream's work must be done before its owner destroys it.
  virtual absl::StatusOr<std::unique_ptr<Stream>> make_stream() = 0;

  // A buffer of at least `bytes` (0 is allowed), uninitialised, for work submitted to `stream`, a
  // stream of this device, from now on. kResourceExhausted if the limit or the system refuses it
  // even after cached memory has been returned.
  virtual absl::StatusOr<BufferRef> allocate(size_t bytes, Stream* stream) = 0;

  // Copies host memory into a new buffer. `host` may be modified after the call. The contents are
  // valid when the buffer's `written` event is done.
  virtual absl::StatusOr<BufferRef> upload(const void* host, size_t bytes) = 0;

  // Likewise copies `bytes` bytes at `offset` of a buffer of `source`, a device of the same kind.
  virtual absl::StatusOr<BufferRef> copy_from(Backend* source, const BufferRef& buffer,
                                              size_t offset, size_t bytes) = 0;

  // Copies `bytes` bytes at `offset` to the host, after waiting for `written`.
  virtual absl::Status download(const Buffer& buffer, size_t offset, size_t bytes, void* host) = 0;

  // Limits live and cached memory together, in bytes; 0: 90 % of the device's memory.
  virtual void set_memory_limit(int64_t bytes) = 0;
  virtual MemoryStats memory_stats() const = 0;
  virtual void reset_peak() = 0;
};

// The backend of `device`, opened by the first call and kept until the process ends. The message
// of an error is one sentence for the user.
absl::StatusOr<Backend*> find_backend(Device device);

// Likewise; throws Error instead.
Backend& backend(Device device);

// Calls f for every open backend.
void for_each_backend(absl::FunctionRef<void(Backend&)> f);

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_BACKEND_H_
