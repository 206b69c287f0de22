#include "runtime/cuda/pinned_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sluice::runtime::cuda {
namespace {

constexpr size_t kLeast = 4096;

}  // namespace

PinnedBlock::PinnedBlock(PinnedBlock&& other) noexcept
    : pool_(other.pool_), data_(std::exchange(other.data_, nullptr)), capacity_(other.capacity_) {}

PinnedBlock& PinnedBlock::operator=(PinnedBlock&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

PinnedBlock::~PinnedBlock() {
  if (data_ != nullptr) pool_->give_back(data_, capacity_);
}

PinnedPool::~PinnedPool() {
  const CurrentContext current(context_);
  for (const auto& [capacity, blocks] : idle_) {
    for (std::byte* block : blocks) context_->driver().mem_free_host(block);
  }
}

absl::StatusOr<PinnedBlock> PinnedPool::take(size_t bytes) {
  const size_t capacity = std::bit_ceil(std::max(bytes, kLeast));
  {
    std::lock_guard lock(mutex_);
    std::vector<std::byte*>& idle = idle_[capacity];
    if (!idle.empty()) {
      std::byte* data = idle.back();
      idle.pop_back();
      return PinnedBlock(this, data, capacity);
    }
  }
  const CurrentContext current(context_);
  if (!current.status().ok()) return current.status();
  void* data = nullptr;
  const absl::Status status = context_->call<&Driver::mem_host_alloc>(
      &data, capacity, kHostAllocPortable | kHostAllocDeviceMap);
  if (!status.ok()) return status;
  return PinnedBlock(this, static_cast<std::byte*>(data), capacity);
}

void PinnedPool::give_back(std::byte* data, size_t capacity) {
  std::lock_guard lock(mutex_);
  idle_[capacity].push_back(data);
}

}  // namespace sluice::runtime::cuda
