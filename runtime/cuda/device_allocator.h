// The caching allocator of one GPU's memory, on top of a stream-ordered pool of the driver.
#ifndef SLUICE_RUNTIME_CUDA_DEVICE_ALLOCATOR_H_
#define SLUICE_RUNTIME_CUDA_DEVICE_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/driver/context.h"
#include "runtime/memory/allocator.h"
#include "runtime/memory/holders.h"

namespace sluice::runtime::cuda {

class CudaStream;

// Every block has a home, the stream it was allocated for. A freed block is reused before the
// device is done with it, but only by work that runs later: work submitted to its home, or work of
// any stream once the home is known to have passed the last use. Hence the rule for free().
// Thread-safe.
class DeviceAllocator final : public BufferOwner {
 public:
  // `wait_for_all` waits for all submitted work of the device and drops the references it held.
  static absl::StatusOr<std::unique_ptr<DeviceAllocator>> make(Context* context,
                                                               std::function<void()> wait_for_all);
  ~DeviceAllocator();
  DeviceAllocator(const DeviceAllocator&) = delete;
  DeviceAllocator& operator=(const DeviceAllocator&) = delete;

  // At least `bytes` (0 is allowed), uninitialised, aligned to kBufferAlignment, for work submitted
  // to `stream` from now on; other streams may use it after that work. When memory runs out,
  // returns cached blocks to the driver and retries, then waits for all work and retries;
  // kResourceExhausted if neither helps.
  absl::StatusOr<void*> allocate(size_t bytes, CudaStream* stream);
  // The same, owned by a buffer.
  absl::StatusOr<BufferRef> allocate_buffer(size_t bytes, CudaStream* stream);
  void release(Buffer* buffer) override;
  // All work that uses the block must have been submitted to its home or be done.
  void free(void* data);
  // Makes `stream` the block's home. The stream's next work must wait for earlier uses. For results
  // written in place of another stream's.
  void adopt(void* data, CudaStream* stream);
  void adopt(Buffer* buffer, Stream* stream) override;

  // Lets another GPU read and write all of this memory directly, where the two are connected so;
  // copies to it would go by way of the host.
  void give_access_to(int ordinal);

  // Limits live and cached memory together, in bytes; 0: 90 % of the device's memory.
  void set_limit(int64_t bytes);
  // Returns all cached memory to the driver.
  void trim();
  MemoryStats stats() const;
  void reset_peak();

  // Releases the blocks of `stream`, which is idle and about to be destroyed, to all streams.
  void forget(const CudaStream* stream);

 private:
  struct Block {
    size_t bytes;  // as requested
    size_t capacity;
    const CudaStream* home;  // null: destroyed
    uint64_t since;          // the home's first ticket after the allocation
  };
  struct FreeBlock {
    void* data;
    uint64_t since;
    uint64_t last_use;  // other streams may reuse it once the home has passed this
  };
  using FreeLists = std::map<size_t, std::deque<FreeBlock>>;  // by capacity, oldest first

  DeviceAllocator(Context* context, std::function<void()> wait_for_all);
  absl::StatusOr<void*> try_allocate(size_t bytes, size_t capacity, CudaStream* stream);
  // {null, 0, 0} if there is none.
  FreeBlock take_cached(size_t capacity, const CudaStream* stream);
  absl::StatusOr<void*> take_from_pool(size_t capacity, CudaStream* stream);
  absl::Status exhausted(size_t bytes) const;
  void give_back_cached();

  Context* const context_;
  const std::function<void()> wait_for_all_;
  PoolHandle pool_ = nullptr;
  StreamHandle idle_stream_ = nullptr;  // where blocks without a home are freed

  mutable std::mutex mutex_;  // guards all below
  std::set<int> peers_;       // that give_access_to() has seen
  absl::flat_hash_map<void*, Block> live_;
  absl::flat_hash_map<const CudaStream*, FreeLists> free_;  // by home
  Holders holders_;
  MemoryStats stats_;
  int64_t held_ = 0;  // bytes obtained from the pool
  int64_t limit_ = 0;
};

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_DEVICE_ALLOCATOR_H_
