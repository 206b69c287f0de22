// One GPU and everything that belongs to it.
#ifndef SLUICE_RUNTIME_CUDA_CUDA_DEVICE_H_
#define SLUICE_RUNTIME_CUDA_CUDA_DEVICE_H_

#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/backends.h"
#include "runtime/cuda/copies.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/cuda/device_allocator.h"
#include "runtime/cuda/driver/context.h"
#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/event_pool.h"
#include "runtime/cuda/pinned_pool.h"

namespace sluice::runtime::cuda {

// Thread-safe.
class CudaDevice : public Backend {
 public:
  static absl::StatusOr<std::unique_ptr<CudaDevice>> make(const Driver* driver, int ordinal);

  Context& context() { return *context_; }
  EventPool& events() { return *events_; }
  EventPool& timing_events() { return *timing_events_; }  // with timestamps
  DeviceAllocator& allocator() { return *allocator_; }
  Copies& copies() { return *copies_; }
  PinnedPool& pinned() { return *pinned_; }

  absl::StatusOr<std::unique_ptr<Stream>> make_stream() override;
  absl::StatusOr<BufferRef> allocate(size_t bytes, Stream* stream) override;
  absl::StatusOr<BufferRef> upload(const void* host, size_t bytes) override;
  absl::StatusOr<BufferRef> copy_from(Backend* source, const BufferRef& buffer, size_t offset,
                                      size_t bytes) override;
  absl::Status download(const Buffer& buffer, size_t offset, size_t bytes, void* host) override;
  void set_memory_limit(int64_t bytes) override { allocator_->set_limit(bytes); }
  MemoryStats memory_stats() const override { return allocator_->stats(); }
  void reset_peak() override { allocator_->reset_peak(); }

  // Waits for all submitted work of its streams.
  void wait_for_all();

  // For CudaStream: the streams that wait_for_all() covers.
  void enrol(CudaStream* stream);
  void leave(CudaStream* stream);

 private:
  CudaDevice() = default;

  // Destroyed in reverse order.
  std::unique_ptr<Context> context_;
  std::unique_ptr<EventPool> events_, timing_events_;
  std::mutex streams_mutex_;
  std::vector<CudaStream*> streams_;  // guarded by streams_mutex_
  std::unique_ptr<DeviceAllocator> allocator_;
  std::unique_ptr<PinnedPool> pinned_;
  std::unique_ptr<Copies> copies_;
};

// cuda_backend(index) with its own type.
absl::StatusOr<CudaDevice*> cuda_device(int index);

// Closes all devices, so that the driver can be replaced. Their streams and memory must be gone.
void close_cuda_devices_for_testing();

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_CUDA_DEVICE_H_
