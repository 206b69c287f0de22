// What a device is to the engine: memory, streams, copies.
#ifndef SLUICE_RUNTIME_BACKEND_H_
#define SLUICE_RUNTIME_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include <sluice/device.h>
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/buffer.h"
#include "runtime/memory_stats.h"
#include "runtime/stream.h"

namespace sluice::runtime {

// One for each device that is in use. Thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;

  // It lives until its owner destroys it, after its work is done.
  virtual absl::StatusOr<std::unique_ptr<Stream>> make_stream() = 0;

  // A buffer of at least `bytes` (0 is allowed) of unspecified contents, for work that `stream`, a
  // stream of this device, is given from now on. kResourceExhausted if the limit or the system does
  // not allow it even after what is cached has been given back.
  virtual absl::StatusOr<BufferRef> allocate(size_t bytes, Stream* stream) = 0;

  // A buffer with a copy of host memory, which may be changed afterwards. The contents are there
  // when `written` of the buffer is done.
  virtual absl::StatusOr<BufferRef> upload(const void* host, size_t bytes) = 0;

  // Likewise with bytes of a buffer of `source`, a device of the same kind, from `offset` on.
  virtual absl::StatusOr<BufferRef> copy_from(Backend* source, const BufferRef& buffer,
                                              size_t offset, size_t bytes) = 0;

  // Copies bytes of the buffer from `offset` on, once they have been written.
  virtual absl::Status download(const Buffer& buffer, size_t offset, size_t bytes, void* host) = 0;

  // Bytes that live and cached memory may take together; 0: 90 % of the device's.
  virtual void set_memory_limit(int64_t bytes) = 0;
  virtual MemoryStats memory_stats() const = 0;
  virtual void reset_peak() = 0;
};

// That of `device`, opened when it is first asked for; it lives until the process ends. Why there
// is none is one sentence for the user.
absl::StatusOr<Backend*> find_backend(Device device);

// Likewise of a device that is known to be there. Throws Error otherwise.
Backend& backend(Device device);

// Those that have been opened.
void for_each_backend(absl::FunctionRef<void(Backend&)> f);

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_BACKEND_H_
