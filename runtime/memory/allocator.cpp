#include "runtime/memory/allocator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/memory/holders.h"
#include "runtime/memory/size_class.h"
#include "runtime/size_text.h"

namespace sluice::runtime {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kShift = 3 * 4096 + 5 * 256, kMaxShift = 16 * kShift;
static_assert(kShift % kBufferAlignment == 0 && kMaxShift < kHugePage);

int64_t machine_memory() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

class Allocator {
 public:
  static Allocator& get() {
    // Never destroyed: static objects release buffers after main.
    static Allocator* allocator = new Allocator;
    return *allocator;
  }

  absl::StatusOr<BufferRef> allocate(size_t bytes) {
    std::unique_lock lock(mutex_);
    if (bytes > size_t{1} << 60) return exhausted(bytes);
    size_t capacity = size_class(bytes);
    Buffer* buffer = take_cached(capacity);
    if (buffer == nullptr && !fits(capacity)) {
      // A block without room to spare, maybe the one of last time.
      capacity = least_capacity(bytes);
      buffer = take_cached(capacity);
    }
    if (buffer == nullptr) {
      if (!fits(capacity)) {
        trim_locked();
        if (!fits(capacity)) return exhausted(capacity);
      }
      void* data = from_system(capacity);
      if (data == nullptr) {
        trim_locked();
        data = from_system(capacity);
        if (data == nullptr) return exhausted(capacity);
      }
      held_ += capacity;
      buffer = new Buffer(data, bytes, capacity);
    }
    buffer->begin_use(bytes);
    holders_.add(buffer);
    stats_.live += bytes;
    stats_.peak = std::max(stats_.peak, stats_.live);
    return BufferRef(buffer);
  }

  void release(Buffer* buffer) {
    if (buffer->data() == nullptr) {
      delete buffer;
      return;
    }
    buffer->failure = nullptr;
    std::lock_guard lock(mutex_);
    holders_.remove(buffer);
    stats_.live -= buffer->bytes();
    stats_.cached += buffer->capacity();
    free_[buffer->capacity()].push_back(buffer);
  }

  void set_limit(int64_t bytes) {
    if (limit_.load(std::memory_order_relaxed) == bytes) [[likely]]
      return;
    limit_.store(bytes, std::memory_order_relaxed);
    trim();  // what is held may be more than the new limit
  }

  void trim() {
    std::lock_guard lock(mutex_);
    trim_locked();
  }

  MemoryStats stats() {
    std::lock_guard lock(mutex_);
    MemoryStats stats = stats_;
    stats.in_use = held_ - stats.cached;
    return stats;
  }

  void reset_peak() {
    std::lock_guard lock(mutex_);
    stats_.peak = stats_.live;
  }

 private:
  int64_t limit() const {
    const int64_t given = limit_.load(std::memory_order_relaxed);
    return given > 0 ? given : default_limit_;
  }

  bool fits(size_t capacity) const { return held_ + static_cast<int64_t>(capacity) <= limit(); }

  // Blocks count, which may be larger than what was asked for.
  absl::Status exhausted(size_t bytes) const {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot allocate ", size_text(static_cast<int64_t>(bytes)), ": ",
                     size_text(held_ - stats_.cached), " are in use of a limit of ",
                     size_text(limit()), holders_.largest()));
  }

  Buffer* take_cached(size_t capacity) {
    const auto it = free_.find(capacity);
    if (it == free_.end() || it->second.empty()) return nullptr;
    Buffer* buffer = it->second.back();
    it->second.pop_back();
    stats_.cached -= capacity;
    return buffer;
  }

  // Large blocks lie in huge pages, each at another offset: arrays that one loop walks together
  // would otherwise compete for the same memory banks and cache sets.
  void* from_system(size_t capacity) {
    void* data = nullptr;
    if (capacity < kHugePage) {
      return posix_memalign(&data, kBufferAlignment, capacity) == 0 ? data : nullptr;
    }
    if (posix_memalign(&data, kHugePage, capacity + kMaxShift) != 0) return nullptr;
    madvise(data, capacity + kMaxShift, MADV_HUGEPAGE);
    shift_ = (shift_ + kShift) % kMaxShift;
    return static_cast<char*>(data) + shift_;
  }

  static void to_system(Buffer* buffer) {
    void* data = buffer->data();
    if (buffer->capacity() >= kHugePage) {
      data = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(data) & ~(kHugePage - 1));
    }
    free(data);
    delete buffer;
  }

  void trim_locked() {
    for (auto& [capacity, blocks] : free_) {
      for (Buffer* block : blocks) to_system(block);
      held_ -= static_cast<int64_t>(capacity * blocks.size());
    }
    free_.clear();
    stats_.cached = 0;
  }

  std::mutex mutex_;
  std::map<size_t, std::vector<Buffer*>> free_;  // by capacity
  Holders holders_;
  MemoryStats stats_;
  int64_t held_ = 0;  // bytes obtained from the system
  std::atomic<int64_t> limit_{0};
  size_t shift_ = 0;  // of the last large block
  const int64_t default_limit_ = machine_memory() / 10 * 9;
};

}  // namespace

absl::StatusOr<BufferRef> allocate(size_t bytes) { return Allocator::get().allocate(bytes); }
void release_buffer(Buffer* buffer) {
  if (buffer->host_copies != nullptr) [[unlikely]]
    drop_host_copies(buffer);
  if (BufferOwner* owner = buffer->owner()) return owner->release(buffer);
  Allocator::get().release(buffer);
}
void set_memory_limit(int64_t bytes) { Allocator::get().set_limit(bytes); }
void trim() { Allocator::get().trim(); }
MemoryStats memory_stats() { return Allocator::get().stats(); }
void reset_peak() { Allocator::get().reset_peak(); }

}  // namespace sluice::runtime
