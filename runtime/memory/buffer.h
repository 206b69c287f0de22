// Device memory, shared by reference counting.
#ifndef SLUICE_RUNTIME_BUFFER_H_
#define SLUICE_RUNTIME_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <utility>

#include <sluice/device.h>
#include "absl/status/status.h"

namespace sluice::runtime {

class Stream;

// A point in a stream's work: done when every submission up to `ticket` is.
struct Event {
  Stream* stream = nullptr;
  uint64_t ticket = 0;
};

// Why work failed. Shared by all results that depend on it; sync() reports it at most once.
struct Failure {
  explicit Failure(absl::Status status) : status(std::move(status)) {}
  absl::Status status;
  std::atomic<bool> reported{false};
};
using FailureRef = std::shared_ptr<Failure>;

class Buffer;
struct HostCopies;

// The allocator that a buffer belongs to.
class BufferOwner {
 public:
  // Frees the memory of an unreferenced buffer and deletes the buffer.
  virtual void release(Buffer* buffer) = 0;
  // Transfers the buffer to `stream`, as if allocated for it. The stream's next work must wait for
  // earlier uses. For results written in place of another stream's.
  virtual void adopt(Buffer* buffer, Stream* stream) = 0;

 protected:
  ~BufferOwner() = default;
};

// A block of device memory, aligned to kBufferAlignment. Dropping the last reference returns it to
// the allocator, which may reuse it at once for work submitted later to the same stream, since
// streams run in order. Work on any other stream must hold a reference until it is done.
class Buffer {
 public:
  enum class Access : uint8_t { kReadWrite, kReadOnly };

  // `owner`: null for host memory, and for a buffer without memory that only carries a failure.
  Buffer(void* data, size_t bytes, size_t capacity, BufferOwner* owner = nullptr,
         Access access = Access::kReadWrite)
      : data_(data), bytes_(bytes), capacity_(capacity), owner_(owner), access_(access) {}

  void* data() const { return data_; }           // null if it only carries a failure
  size_t bytes() const { return bytes_; }        // as requested
  size_t capacity() const { return capacity_; }  // as allocated
  BufferOwner* owner() const { return owner_; }
  // False for memory that is not the engine's (lent_buffer.h): no result may take it over.
  bool writable() const { return access_ == Access::kReadWrite; }

  // For caching allocators: reuses an unreferenced block whose failure has been cleared.
  void begin_use(size_t bytes) {
    bytes_ = bytes;
    written = {};
    note_holder(nullptr, {});
  }

  // Whose value it is: what was called, and where, for messages. `name`: null if it is not known.
  // Two threads may meet here over a block that changes hands: a message may be wrong then.
  void note_holder(const char* name, const std::source_location& where) {
    name_.store(name, std::memory_order_relaxed);
    where_.store(where, std::memory_order_relaxed);
  }
  const char* holder() const { return name_.load(std::memory_order_relaxed); }
  std::source_location held_from() const { return where_.load(std::memory_order_relaxed); }

  // The submission that writes the contents. Set before the buffer is shared.
  Event written;
  // Set, before `written` is done, if the contents could not be computed.
  FailureRef failure;
  // What host_copies.h has made of the contents; null if nothing.
  HostCopies* host_copies = nullptr;

 private:
  friend class BufferRef;
  friend class Holders;
  std::atomic<int32_t> references_{0};
  std::atomic<const char*> name_{nullptr};
  std::atomic<std::source_location> where_{std::source_location()};
  Buffer* previous_ = nullptr;  // of its Holders
  Buffer* next_ = nullptr;
  void* data_;
  size_t bytes_;
  size_t capacity_;
  BufferOwner* owner_;
  Access access_;
};

inline constexpr size_t kBufferAlignment = 256;

// To be called before the contents of a buffer with host copies change. Defined in
// host_copies.cpp.
void drop_host_copies(Buffer* buffer);

// Frees the memory of an unreferenced buffer. Defined in allocator.cpp.
void release_buffer(Buffer* buffer);

class BufferRef {
 public:
  BufferRef() = default;
  explicit BufferRef(Buffer* buffer) : buffer_(buffer) { acquire(); }
  BufferRef(const BufferRef& other) : buffer_(other.buffer_) { acquire(); }
  BufferRef(BufferRef&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferRef() {
    if (buffer_ != nullptr && buffer_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      release_buffer(buffer_);
    }
  }

  Buffer* get() const { return buffer_; }
  Buffer* operator->() const { return buffer_; }
  explicit operator bool() const { return buffer_ != nullptr; }
  // True if this is the only reference, so that nobody else can observe a write.
  bool unique() const { return count() == 1; }
  int32_t count() const { return buffer_->references_.load(std::memory_order_acquire); }

 private:
  void acquire() {
    if (buffer_ != nullptr) buffer_->references_.fetch_add(1, std::memory_order_relaxed);
  }
  Buffer* buffer_ = nullptr;
};

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_BUFFER_H_
