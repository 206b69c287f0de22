#include "tests/emulated_cuda/device_memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

// Clang may come without its sanitizers' headers. Without ASan the macros do nothing.
#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) \
  (static_cast<void>(address), static_cast<void>(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) \
  (static_cast<void>(address), static_cast<void>(size))
#endif

namespace sluice::emulated {
namespace {

constexpr size_t kPage = 4096;
// Unused space between allocations. Kernels get base addresses outside an allocation that only
// become valid with an index, such as those of a concatenation's operands.
constexpr size_t kGap = size_t{16} << 20;

size_t to_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

std::byte* reserve_range(size_t bytes) {
  void* range = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    std::perror("emulated device memory");
    std::abort();
  }
  return static_cast<std::byte*>(range);
}

}  // namespace

DeviceMemory::DeviceMemory()
    : base_(reinterpret_cast<DevicePtr>(reserve_range(kReserved))),
      memory_(reserve_range(kReserved)),
      next_(kGap) {}

DeviceMemory::~DeviceMemory() {
  ASAN_UNPOISON_MEMORY_REGION(memory_, next_);
  munmap(reinterpret_cast<void*>(base_), kReserved);
  munmap(memory_, kReserved);
}

AllocationRef DeviceMemory::reserve(int device, size_t bytes, uint64_t stream, bool reuse) {
  auto made = std::make_shared<Allocation>();
  made->bytes = bytes;
  made->device = device;
  made->stream = stream;
  std::vector<DevicePtr>& freed = reusable_[{stream, bytes}];
  if (reuse && !freed.empty()) {
    made->begin = freed.back();
    freed.pop_back();
  } else {
    made->begin = base_ + next_;
    next_ += to_pages(bytes) + kGap;
    if (next_ > kReserved) {
      std::fputs("emulated device memory: out of addresses\n", stderr);
      std::abort();
    }
  }
  newest_[made->begin] = made;
  return made;
}

void DeviceMemory::release(const AllocationRef& allocation, uint64_t stream) {
  allocation->free_requested = true;
  reusable_[{stream, allocation->bytes}].push_back(allocation->begin);
}

void DeviceMemory::begin_life(Allocation* allocation, bool fill) {
  std::byte* memory = host(allocation->begin);
  const size_t size = to_pages(allocation->bytes);
  if (mprotect(memory, size, PROT_READ | PROT_WRITE) != 0) {
    std::perror("emulated device memory");
    std::abort();
  }
  ASAN_UNPOISON_MEMORY_REGION(memory, size);
  if (fill) std::memset(memory, 0xff, allocation->bytes);
  ASAN_POISON_MEMORY_REGION(memory + allocation->bytes, size - allocation->bytes);
  allocation->life = Allocation::Life::kLive;
}

void DeviceMemory::end_life(Allocation* allocation) {
  std::byte* memory = host(allocation->begin);
  const size_t size = to_pages(allocation->bytes);
  madvise(memory, size, MADV_DONTNEED);
  mprotect(memory, size, PROT_NONE);
  ASAN_POISON_MEMORY_REGION(memory, size);
  allocation->life = Allocation::Life::kFreed;
}

AllocationRef DeviceMemory::find(DevicePtr address) const {
  auto it = newest_.upper_bound(address);
  if (it == newest_.begin()) return nullptr;
  const AllocationRef& found = (--it)->second;
  return address - found->begin <= found->bytes ? found : nullptr;
}

std::vector<AllocationRef> DeviceMemory::not_freed() const {
  std::vector<AllocationRef> found;
  for (const auto& [begin, allocation] : newest_) {
    if (!allocation->free_requested) found.push_back(allocation);
  }
  return found;
}

std::vector<AllocationRef> DeviceMemory::live(int device) const {
  std::vector<AllocationRef> found;
  for (const auto& [begin, allocation] : newest_) {
    if (allocation->device == device && allocation->life == Allocation::Life::kLive) {
      found.push_back(allocation);
    }
  }
  return found;
}

}  // namespace sluice::emulated
