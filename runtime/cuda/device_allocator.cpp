#include "runtime/cuda/device_allocator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/memory/size_class.h"
#include "runtime/size_text.h"

namespace sluice::runtime::cuda {

DeviceAllocator::DeviceAllocator(Context* context, std::function<void()> wait_for_all)
    : context_(context), wait_for_all_(std::move(wait_for_all)) {}

absl::StatusOr<std::unique_ptr<DeviceAllocator>> DeviceAllocator::make(
    Context* context, std::function<void()> wait_for_all) {
  std::unique_ptr<DeviceAllocator> made(new DeviceAllocator(context, std::move(wait_for_all)));
  const CurrentContext current(context);
  absl::Status status = current.status();
  if (!status.ok()) return status;
  PoolProperties properties = {};
  properties.allocation_type = kPinnedAllocation;
  properties.location_type = kDeviceLocation;
  properties.location = context->info().ordinal;
  status = context->call<&Driver::stream_create>(&made->idle_stream_, kStreamNonBlocking);
  if (status.ok()) status = context->call<&Driver::mem_pool_create>(&made->pool_, &properties);
  // The pool keeps freed memory until trim().
  uint64_t threshold = ~uint64_t{0};
  if (status.ok()) {
    status = context->call<&Driver::mem_pool_set_attribute>(
        made->pool_, PoolAttribute::kReleaseThreshold, static_cast<void*>(&threshold));
  }
  if (!status.ok()) return status;
  return made;
}

DeviceAllocator::~DeviceAllocator() {
  if (pool_ != nullptr) {
    trim();
    context_->driver().mem_pool_destroy(pool_);
  }
  if (idle_stream_ != nullptr) context_->driver().stream_destroy(idle_stream_);
}

absl::StatusOr<void*> DeviceAllocator::allocate(size_t bytes, CudaStream* stream) {
  if (context_->poisoned()) return context_->failure()->status;
  if (bytes > size_t{1} << 60) {
    std::lock_guard lock(mutex_);
    return exhausted(bytes);  // no block is so large
  }
  const size_t capacity = size_class(bytes);
  for (int attempt = 0;; ++attempt) {
    // Unlocked: batches that finish free memory.
    if (attempt == 2) wait_for_all_();
    std::lock_guard lock(mutex_);
    if (attempt > 0) give_back_cached();
    if (attempt == 2) {
      const CurrentContext current(context_);
      context_->call<&Driver::ctx_synchronize>().IgnoreError();
      context_->driver().mem_pool_trim_to(pool_, 0);
    }
    absl::StatusOr<void*> data = try_allocate(bytes, capacity, stream);
    if (data.ok() || !absl::IsResourceExhausted(data.status()) || attempt == 2) return data;
  }
}

absl::StatusOr<void*> DeviceAllocator::try_allocate(size_t bytes, size_t capacity,
                                                    CudaStream* stream) {
  FreeBlock block = take_cached(capacity, stream);
  if (block.data == nullptr) {
    const absl::StatusOr<void*> fresh = take_from_pool(capacity, stream);
    if (!fresh.ok()) return fresh;
    block = {*fresh, stream->ticket_in_use() + 1, 0};
  }
  live_[block.data] = {bytes, capacity, stream, block.since};
  stats_.live += static_cast<int64_t>(bytes);
  stats_.peak = std::max(stats_.peak, stats_.live);
  return block.data;
}

DeviceAllocator::FreeBlock DeviceAllocator::take_cached(size_t capacity, const CudaStream* stream) {
  const auto blocks_of = [&](FreeLists& lists) -> std::deque<FreeBlock>* {
    const auto it = lists.find(capacity);
    return it == lists.end() || it->second.empty() ? nullptr : &it->second;
  };
  if (const auto own = free_.find(stream); own != free_.end()) {
    if (std::deque<FreeBlock>* blocks = blocks_of(own->second)) {
      const FreeBlock newest = blocks->back();  // most likely still in the GPU's cache
      blocks->pop_back();
      stats_.cached -= static_cast<int64_t>(capacity);
      return newest;
    }
  }
  for (auto& [home, lists] : free_) {
    std::deque<FreeBlock>* blocks = blocks_of(lists);
    if (blocks == nullptr) continue;
    const FreeBlock oldest = blocks->front();
    if (home != nullptr && !home->known_done(oldest.last_use)) continue;
    blocks->pop_front();
    stats_.cached -= static_cast<int64_t>(capacity);
    return {oldest.data, 0, 0};
  }
  return {nullptr, 0, 0};
}

absl::StatusOr<void*> DeviceAllocator::take_from_pool(size_t capacity, CudaStream* stream) {
  const int64_t limit = limit_ > 0 ? limit_ : context_->info().memory_bytes / 10 * 9;
  if (held_ + static_cast<int64_t>(capacity) > limit) return exhausted(capacity);
  const CurrentContext current(context_);
  if (!current.status().ok()) return current.status();
  DevicePtr address = 0;
  absl::Status status = context_->call<&Driver::mem_alloc_from_pool_async>(&address, capacity,
                                                                           pool_, stream->handle());
  if (absl::IsResourceExhausted(status)) return exhausted(capacity);
  if (!status.ok()) return status;
  held_ += static_cast<int64_t>(capacity);
  return reinterpret_cast<void*>(address);
}

absl::Status DeviceAllocator::exhausted(size_t bytes) const {
  const int64_t memory = context_->info().memory_bytes;
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot allocate ", size_text(static_cast<int64_t>(bytes)),
                   " on cuda:", context_->info().ordinal, ": ", size_text(held_ - stats_.cached),
                   " are in use of a limit of ", size_text(limit_ > 0 ? limit_ : memory / 10 * 9),
                   ", the device has ", size_text(memory), holders_.largest()));
}

void DeviceAllocator::free(void* data) {
  std::lock_guard lock(mutex_);
  const auto it = live_.find(data);
  const Block block = it->second;
  live_.erase(it);
  stats_.live -= static_cast<int64_t>(block.bytes);
  stats_.cached += static_cast<int64_t>(block.capacity);
  const uint64_t last_use =
      block.home == nullptr ? 0 : std::max(block.home->ticket_in_use(), block.since);
  free_[block.home][block.capacity].push_back({data, block.since, last_use});
}

void DeviceAllocator::adopt(void* data, CudaStream* stream) {
  std::lock_guard lock(mutex_);
  Block& block = live_.find(data)->second;
  if (block.home == stream) return;
  block.home = stream;
  block.since = stream->ticket_in_use() + 1;
}

void DeviceAllocator::adopt(Buffer* buffer, Stream* stream) {
  adopt(buffer->data(), static_cast<CudaStream*>(stream));
}

absl::StatusOr<BufferRef> DeviceAllocator::allocate_buffer(size_t bytes, CudaStream* stream) {
  const absl::StatusOr<void*> data = allocate(bytes, stream);
  if (!data.ok()) return data.status();
  BufferRef buffer(new Buffer(*data, bytes, size_class(bytes), this));
  std::lock_guard lock(mutex_);
  holders_.add(buffer.get());
  return buffer;
}

void DeviceAllocator::release(Buffer* buffer) {
  {
    std::lock_guard lock(mutex_);
    holders_.remove(buffer);
  }
  free(buffer->data());
  delete buffer;
}

void DeviceAllocator::give_access_to(int ordinal) {
  std::lock_guard lock(mutex_);
  if (!peers_.insert(ordinal).second) return;
  const CurrentContext current(context_);
  DeviceHandle own = 0, peer = 0;
  int can = 0;
  absl::Status status = current.status();
  if (status.ok()) {
    status = context_->call<&Driver::device_get>(&own, context_->info().ordinal);
    status.Update(context_->call<&Driver::device_get>(&peer, ordinal));
  }
  if (status.ok()) status = context_->call<&Driver::device_can_access_peer>(&can, peer, own);
  if (!status.ok() || can == 0) return;
  const AccessDescription access = {kDeviceLocation, ordinal, kAccessReadWrite};
  // If it is refused, the driver stages copies as before.
  context_->call<&Driver::mem_pool_set_access>(pool_, &access, size_t{1}).IgnoreError();
}

void DeviceAllocator::set_limit(int64_t bytes) {
  std::lock_guard lock(mutex_);
  if (limit_ == bytes) return;
  limit_ = bytes;
  give_back_cached();  // what is held may be more than the new limit
}

void DeviceAllocator::trim() {
  std::lock_guard lock(mutex_);
  give_back_cached();
  context_->driver().mem_pool_trim_to(pool_, 0);
}

void DeviceAllocator::give_back_cached() {
  const CurrentContext current(context_);
  for (auto& [home, lists] : free_) {
    const StreamHandle stream = home == nullptr ? idle_stream_ : home->handle();
    for (auto& [capacity, blocks] : lists) {
      for (const FreeBlock& block : blocks) {
        context_->driver().mem_free_async(reinterpret_cast<DevicePtr>(block.data), stream);
      }
      held_ -= static_cast<int64_t>(capacity * blocks.size());
    }
  }
  free_.clear();
  stats_.cached = 0;
}

MemoryStats DeviceAllocator::stats() const {
  std::lock_guard lock(mutex_);
  MemoryStats stats = stats_;
  stats.in_use = held_ - stats.cached;
  return stats;
}

void DeviceAllocator::reset_peak() {
  std::lock_guard lock(mutex_);
  stats_.peak = stats_.live;
}

void DeviceAllocator::forget(const CudaStream* stream) {
  std::lock_guard lock(mutex_);
  for (auto& [data, block] : live_) {
    if (block.home == stream) block.home = nullptr;
  }
  const auto it = free_.find(stream);
  if (it == free_.end()) return;
  FreeLists lists = std::move(it->second);
  free_.erase(it);
  for (auto& [capacity, blocks] : lists) {
    std::deque<FreeBlock>& idle = free_[nullptr][capacity];
    idle.insert(idle.end(), blocks.begin(), blocks.end());
  }
}

}  // namespace sluice::runtime::cuda
