// The memory of the emulated devices. Device addresses lie in a range that the host cannot access;
// the contents are stored in another range.
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
  uint64_t stream = 0;  // the number of the stream it was allocated on
  // Allocating and freeing are stream-ordered: they happen after the host's call.
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

  // Reserves an address. `reuse`: prefer one that the host has already freed on the same stream, as
  // real pools do.
  AllocationRef reserve(int device, size_t bytes, uint64_t stream, bool reuse);
  // Called when the host requests the free, on `stream`.
  void release(const AllocationRef& allocation, uint64_t stream);
  // Begins and ends the time in which the memory is accessible. `fill`: it begins with 0xff bytes.
  void begin_life(Allocation* allocation, bool fill = true);
  void end_life(Allocation* allocation);

  bool is_device_address(uint64_t value) const { return value - base_ < kReserved; }
  // The newest allocation that contains the address or ends at it; null if there is none.
  AllocationRef find(DevicePtr address) const;
  // Where the contents of a device address are stored.
  std::byte* host(DevicePtr address) const { return memory_ + (address - base_); }

  std::vector<AllocationRef> not_freed() const;
  // What work of a device may access now.
  std::vector<AllocationRef> live(int device) const;

 private:
  static constexpr size_t kReserved = size_t{1} << 38;

  DevicePtr base_ = 0;
  std::byte* memory_ = nullptr;
  size_t next_;                                // start of the unused range
  std::map<DevicePtr, AllocationRef> newest_;  // by begin
  std::map<std::pair<uint64_t, size_t>, std::vector<DevicePtr>> reusable_;  // by stream and size
};

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_DEVICE_MEMORY_H_
