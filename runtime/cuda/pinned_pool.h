// A pool of small blocks of pinned host memory.
#ifndef SLUICE_RUNTIME_CUDA_PINNED_POOL_H_
#define SLUICE_RUNTIME_CUDA_PINNED_POOL_H_

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cuda/driver/context.h"

namespace sluice::runtime::cuda {

class PinnedPool;

// A block, returned to its pool by the destructor; the device must be done with it by then. The
// device accesses it at the same address.
class PinnedBlock {
 public:
  PinnedBlock() = default;
  PinnedBlock(PinnedBlock&& other) noexcept;
  PinnedBlock& operator=(PinnedBlock&& other) noexcept;
  ~PinnedBlock();

  std::byte* data() const { return data_; }  // null if empty

 private:
  friend class PinnedPool;
  PinnedBlock(PinnedPool* pool, std::byte* data, size_t capacity)
      : pool_(pool), data_(data), capacity_(capacity) {}

  PinnedPool* pool_ = nullptr;
  std::byte* data_ = nullptr;
  size_t capacity_ = 0;
};

// Thread-safe.
class PinnedPool {
 public:
  explicit PinnedPool(Context* context) : context_(context) {}
  ~PinnedPool();  // all blocks must have been returned
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  // At least `bytes`, uninitialised, aligned to 256 bytes.
  absl::StatusOr<PinnedBlock> take(size_t bytes);

 private:
  friend class PinnedBlock;
  void give_back(std::byte* data, size_t capacity);

  Context* const context_;
  std::mutex mutex_;
  std::map<size_t, std::vector<std::byte*>> idle_;  // by capacity; guarded by mutex_
};

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_PINNED_POOL_H_
