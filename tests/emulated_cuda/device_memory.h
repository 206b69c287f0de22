// The memory of the emulated devices: a range of addresses that the host cannot follow, kept
// elsewhere.
#ifndef SLUICE_TESTS_EMULATED_CUDA_DEVICE_MEMORY_H_
#define SLUICE_TESTS_EMULATED_CUDA_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/cuda/driver/driver_types.h"

namespace sluice::emulated {

using runtime::cuda::DevicePtr;

struct Allocation {
  DevicePtr begin = 0;
  size_t bytes = 0;
  int device = 0;
  uint64_t stream = 0;  // the number of the one it was allocated on
  // Allocating and freeing are work of streams like any other: what the host has asked for happens
  // later.
  enum class Life { kRequested, kLive, kFreed } life = Life::kRequested;
  bool free_requested = false;
};
using AllocationRef = std::shared_ptr<Allocation>;

class DeviceMemory {
 public:
  DeviceMemory();
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // An address for a new allocation. `reuse`: rather that of one that the host has already freed on
  // the same stream, as real pools do.
  AllocationRef reserve(int device, size_t bytes, uint64_t stream, bool reuse);
  // The host has asked to free it on `stream`.
  void release(const AllocationRef& allocation, uint64_t stream);
  // Its memory comes (filled with bytes of ones) and goes; not accessible outside that time.
  void begin_life(Allocation* allocation);
  void end_life(Allocation* allocation);

  bool is_device_address(uint64_t value) const { return value - base_ < kReserved; }
  // The newest allocation that has the address, or ends there; null if there is none.
  AllocationRef find(DevicePtr address) const;
  // Where the emulator keeps it.
  std::byte* host(DevicePtr address) const { return memory_ + (address - base_); }

  std::vector<AllocationRef> not_freed() const;

 private:
  static constexpr size_t kReserved = size_t{1} << 38;

  DevicePtr base_ = 0;
  std::byte* memory_ = nullptr;
  size_t next_;                                // where nothing has been yet
  std::map<DevicePtr, AllocationRef> newest_;  // by begin
  std::map<std::pair<uint64_t, size_t>, std::vector<DevicePtr>> reusable_;  // by stream and size
};

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_DEVICE_MEMORY_H_
