#include "runtime/cpu/cpu_backend.h"

#include <cstring>

#include "runtime/cpu/cpu_stream.h"
#include "runtime/memory/allocator.h"

namespace sluice::runtime {
namespace {

class CpuBackend : public Backend {
 public:
  absl::StatusOr<std::unique_ptr<Stream>> make_stream() override { return make_cpu_stream(); }

  absl::StatusOr<BufferRef> allocate(size_t bytes, Stream*) override {
    return runtime::allocate(bytes);
  }

  absl::StatusOr<BufferRef> upload(const void* host, size_t bytes) override {
    absl::StatusOr<BufferRef> buffer = runtime::allocate(bytes);
    if (buffer.ok() && bytes > 0) std::memcpy((*buffer)->data(), host, bytes);
    return buffer;
  }

  absl::StatusOr<BufferRef> copy_from(Backend*, const BufferRef& buffer, size_t offset,
                                      size_t bytes) override {
    wait(buffer->written);
    return upload(static_cast<const char*>(buffer->data()) + offset, bytes);
  }

  absl::Status download(const Buffer& buffer, size_t offset, size_t bytes, void* host) override {
    wait(buffer.written);
    if (bytes > 0) std::memcpy(host, static_cast<const char*>(buffer.data()) + offset, bytes);
    return absl::OkStatus();
  }

  void set_memory_limit(int64_t bytes) override { runtime::set_memory_limit(bytes); }
  MemoryStats memory_stats() const override { return runtime::memory_stats(); }
  void reset_peak() override { runtime::reset_peak(); }
};

}  // namespace

Backend& cpu_backend() {
  // Never destroyed: static objects release buffers after main.
  static Backend* backend = new CpuBackend;
  return *backend;
}

}  // namespace sluice::runtime
