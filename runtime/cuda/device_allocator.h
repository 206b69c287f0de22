// The caching allocator of one GPU's memory, over a stream-ordered pool of the driver.
#ifndef SLUICE_RUNTIME_CUDA_DEVICE_ALLOCATOR_H_
#define SLUICE_RUNTIME_CUDA_DEVICE_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/allocator.h"
#include "runtime/cuda/driver/context.h"

namespace sluice::runtime::cuda {

class CudaStream;

// Every block belongs to a stream, its home. It is handed out before the device is done with its
// last use, but only to work that runs after that: work that its home is given later, or work of
// any stream once the home is known to be past the use. Hence the rule for free(). Thread-safe.
class DeviceAllocator : public BufferOwner {
 public:
  // `wait_for_all` waits for all work that the device has been given, and drops what that held.
  static absl::StatusOr<std::unique_ptr<DeviceAllocator>> make(Context* context,
                                                               std::function<void()> wait_for_all);
  ~DeviceAllocator();
  DeviceAllocator(const DeviceAllocator&) = delete;
  DeviceAllocator& operator=(const DeviceAllocator&) = delete;

  // At least `bytes` (0 is allowed) of unspecified contents, aligned to kBufferAlignment, for work
  // that `stream` is given from now on. Other streams may use it after that work. When there is no
  // memory it gives back what is cached, then also waits for all work, and tries again:
  // kResourceExhausted if that does not help.
  absl::StatusOr<void*> allocate(size_t bytes, CudaStream* stream);
  // The same as a buffer, which gives it back.
  absl::StatusOr<BufferRef> allocate_buffer(size_t bytes, CudaStream* stream);
  void release(Buffer* buffer) override;
  // All work that uses the block has been submitted to its home, or is done.
  void free(void* data);
  // From now on the block's home is `stream`, whose next work waits for what used it so far: a
  // result is written in place of another stream's.
  void adopt(void* data, CudaStream* stream);
  void adopt(Buffer* buffer, Stream* stream) override;

  // Bytes that live and cached memory may take together; 0: 90 % of the device's memory.
  void set_limit(int64_t bytes);
  // Gives all cached memory back to the driver.
  void trim();
  MemoryStats stats() const;
  void reset_peak();

  // `stream`, whose work is done, is about to be destroyed; its blocks may go anywhere.
  void forget(const CudaStream* stream);

 private:
  struct Block {
    size_t bytes;  // as asked for
    size_t capacity;
    const CudaStream* home;  // null: the home is gone
    uint64_t since;          // the first ticket of its home that comes after its allocation
  };
  struct FreeBlock {
    void* data;
    uint64_t since;
    uint64_t last_use;  // the ticket of its home after which others may have it
  };
  using FreeLists = std::map<size_t, std::deque<FreeBlock>>;  // by capacity, oldest first

  DeviceAllocator(Context* context, std::function<void()> wait_for_all);
  absl::StatusOr<void*> try_allocate(size_t bytes, size_t capacity, CudaStream* stream);
  // {null, 0, 0} if there is none.
  FreeBlock take_cached(size_t capacity, const CudaStream* stream);
  absl::StatusOr<void*> take_from_pool(size_t bytes, size_t capacity, CudaStream* stream);
  absl::Status exhausted(size_t bytes) const;
  void give_back_cached();

  Context* const context_;
  const std::function<void()> wait_for_all_;
  PoolHandle pool_ = nullptr;
  StreamHandle idle_stream_ = nullptr;  // where blocks without a home are given back

  mutable std::mutex mutex_;  // guards all below
  absl::flat_hash_map<void*, Block> live_;
  absl::flat_hash_map<const CudaStream*, FreeLists> free_;  // by home
  MemoryStats stats_;
  int64_t held_ = 0;  // taken from the pool and not given back
  int64_t limit_ = 0;
};

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_DEVICE_ALLOCATOR_H_
