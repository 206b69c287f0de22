// Device memory, pinned memory, copies.
#include <algorithm>
#include <cstring>

#include "tests/emulated_cuda/machine.h"

namespace sluice::emulated {

bool Machine::check_access(Device* device, const AllocationRef& allocation, DevicePtr begin,
                           size_t bytes, bool now) {
  std::string wrong;
  if (allocation == nullptr) {
    wrong = "an address that is no device memory";
  } else if (begin + bytes > allocation->begin + allocation->bytes) {
    wrong = "bytes past the end of an allocation";
  } else if (allocation->device != device->ordinal) {
    wrong = "memory of another device";
  } else if (now && allocation->life == Allocation::Life::kRequested) {
    wrong = "memory that is not allocated yet: something does not wait";
  } else if (now ? allocation->life == Allocation::Life::kFreed : allocation->free_requested) {
    wrong = "memory that has been freed";
  } else {
    return true;
  }
  violation(Result::kIllegalAddress, (now ? "running work uses " : "work is given ") + wrong);
  if (now) raise(device, Result::kIllegalAddress);
  return false;
}

std::shared_ptr<PinnedBlock> Machine::pinned(const void* begin, size_t bytes) {
  const auto* first = static_cast<const std::byte*>(begin);
  for (const auto& [handle, block] : pinned_blocks) {
    const std::byte* memory = block->memory.get();
    if (first >= memory && first + bytes <= memory + block->bytes) return block;
  }
  return nullptr;
}

namespace calls {
namespace {

// The device side of a copy.
struct DeviceBytes {
  Device* device;
  AllocationRef allocation;
  DevicePtr begin;
};

// Enqueues `act`, which accesses device memory. The access is checked now and when it runs.
Result push_access(Machine& machine, StreamHandle handle, std::vector<DeviceBytes> used,
                   size_t bytes, std::function<void()> act, std::shared_ptr<bool>* done = nullptr) {
  const auto stream = machine.find(machine.streams, handle);
  if (stream == nullptr) return Result::kInvalidHandle;
  if (!machine.must_be_current(stream->device)) return Result::kInvalidContext;
  for (DeviceBytes& one : used) {
    one.allocation = machine.memory.find(one.begin);
    if (one.device == nullptr) one.device = stream->device;
    if (!machine.check_access(one.device, one.allocation, one.begin, bytes, false)) {
      return Result::kInvalidValue;
    }
  }
  const auto pushed = machine.push(stream.get(), [&machine, used, bytes, act = std::move(act)] {
    for (const DeviceBytes& one : used) {
      if (!machine.check_access(one.device, one.allocation, one.begin, bytes, true)) return true;
    }
    act();
    return true;
  });
  if (done != nullptr) *done = pushed;
  return Result::kSuccess;
}

}  // namespace

Result mem_pool_create(Machine& machine, PoolHandle* handle, const PoolProperties* what) {
  if (what->location < 0 || what->location >= machine.options.devices) {
    return Result::kInvalidDevice;
  }
  machine.pools[*handle = machine.new_handle<PoolHandle>()] =
      std::make_shared<Pool>(Pool{&machine.devices[what->location], {}});
  return Result::kSuccess;
}

Result mem_pool_destroy(Machine& machine, PoolHandle handle) {
  if (machine.find(machine.pools, handle) == nullptr) return Result::kInvalidHandle;
  machine.pools.erase(handle);
  return Result::kSuccess;
}

Result mem_pool_set_attribute(Machine& machine, PoolHandle handle, PoolAttribute, void*) {
  return machine.find(machine.pools, handle) ? Result::kSuccess : Result::kInvalidHandle;
}

Result mem_pool_set_access(Machine& machine, PoolHandle handle, const AccessDescription* access,
                           size_t count) {
  const auto pool = machine.find(machine.pools, handle);
  if (pool == nullptr) return Result::kInvalidHandle;
  for (size_t i = 0; i < count; ++i) {
    const AccessDescription& what = access[i];
    if (what.location_type != kDeviceLocation || what.flags != kAccessReadWrite ||
        what.location < 0 || what.location >= machine.options.devices ||
        (what.location != pool->device->ordinal && !machine.options.are_peers)) {
      return machine.violation(Result::kInvalidValue, "access that cannot be given");
    }
    pool->peers.insert(what.location);
  }
  return Result::kSuccess;
}

Result mem_pool_trim_to(Machine& machine, PoolHandle handle, size_t) {
  return machine.find(machine.pools, handle) ? Result::kSuccess : Result::kInvalidHandle;
}

Result mem_alloc_from_pool_async(Machine& machine, DevicePtr* address, size_t bytes,
                                 PoolHandle pool_handle, StreamHandle stream_handle) {
  const auto pool = machine.find(machine.pools, pool_handle);
  const auto stream = machine.find(machine.streams, stream_handle);
  if (pool == nullptr || stream == nullptr) return Result::kInvalidHandle;
  if (!machine.must_be_current(stream->device)) return Result::kInvalidContext;
  Device* device = pool->device;
  if (bytes == 0 || device != stream->device) {
    return machine.violation(Result::kInvalidValue, "no bytes, or of another device");
  }
  // Pending frees of the same stream complete before this allocation does.
  if (device->memory_in_use + bytes >
      machine.options.memory_bytes + machine.freeing[stream->number]) {
    return Result::kOutOfMemory;
  }
  device->memory_in_use += bytes;
  const AllocationRef made =
      machine.memory.reserve(device->ordinal, bytes, stream->number, machine.chance(0.5));
  *address = made->begin;
  machine.push(stream.get(), [&machine, made] {
    machine.memory.begin_life(made.get(), /*fill=*/!machine.options.is_dry);
    return true;
  });
  return Result::kSuccess;
}

Result mem_free_async(Machine& machine, DevicePtr address, StreamHandle handle) {
  const auto stream = machine.find(machine.streams, handle);
  if (stream == nullptr) return Result::kInvalidHandle;
  const AllocationRef freed = machine.memory.find(address);
  if (freed == nullptr || freed->begin != address || freed->free_requested) {
    return machine.violation(Result::kInvalidValue, "nothing to free is at this address");
  }
  machine.memory.release(freed, stream->number);
  if (stream->device->sticky != Result::kSuccess) return stream->device->sticky;
  machine.freeing[stream->number] += freed->bytes;
  machine.push(stream.get(), [&machine, freed, number = stream->number] {
    Device* device = &machine.devices[freed->device];
    if (!machine.check_access(device, freed, freed->begin, freed->bytes, true)) return true;
    machine.memory.end_life(freed.get());
    device->memory_in_use -= freed->bytes;
    machine.freeing[number] -= freed->bytes;
    return true;
  });
  return Result::kSuccess;
}

Result mem_host_alloc(Machine& machine, void** memory, size_t bytes, unsigned) {
  if (machine.current() == nullptr) {
    return machine.violation(Result::kInvalidContext, "no context is current");
  }
  auto block = std::make_shared<PinnedBlock>();
  block->memory.reset(new std::byte[bytes]);
  block->bytes = bytes;
  *memory = block->memory.get();
  machine.pinned_blocks[*memory] = block;
  return Result::kSuccess;
}

Result mem_free_host(Machine& machine, void* memory) {
  const auto block = machine.find(machine.pinned_blocks, memory);
  if (block == nullptr) return Result::kInvalidValue;
  if (block.use_count() > 2) {
    machine.violation(Result::kInvalidValue, "work that is under way uses the memory");
  }
  machine.pinned_blocks.erase(memory);
  return Result::kSuccess;
}

Result pointer_get_attribute(Machine& machine, void* value, PointerAttribute attribute,
                             DevicePtr address) {
  if (attribute != PointerAttribute::kMemoryType) {
    return machine.violation(Result::kInvalidValue, "an attribute that is not emulated");
  }
  // Of memory that it does not know the driver says so.
  if (machine.pinned(reinterpret_cast<const void*>(address), 1) == nullptr) {
    return Result::kInvalidValue;
  }
  *static_cast<unsigned*>(value) = runtime::cuda::kHostMemory;
  return Result::kSuccess;
}

Result memcpy_htod_async(Machine& machine, DevicePtr target, const void* source, size_t bytes,
                         StreamHandle stream) {
  // Pageable memory is read before the call returns, pinned memory when the copy runs.
  const std::shared_ptr<PinnedBlock> block = machine.pinned(source, bytes);
  std::shared_ptr<std::vector<std::byte>> copy;
  if (block == nullptr) {
    const auto* begin = static_cast<const std::byte*>(source);
    copy = std::make_shared<std::vector<std::byte>>(begin, begin + bytes);
    source = copy->data();
  }
  return push_access(machine, stream, {{nullptr, nullptr, target}}, bytes,
                     [&machine, target, source, bytes, block, copy] {
                       std::memcpy(machine.memory.host(target), source, bytes);
                     });
}

Result memcpy_dtoh_async(Machine& machine, void* target, DevicePtr source, size_t bytes,
                         StreamHandle stream) {
  const std::shared_ptr<PinnedBlock> block = machine.pinned(target, bytes);
  std::shared_ptr<bool> done;
  const Result result = push_access(
      machine, stream, {{nullptr, nullptr, source}}, bytes,
      [&machine, target, source, bytes, block] {
        std::memcpy(target, machine.memory.host(source), bytes);
      },
      &done);
  if (result != Result::kSuccess || block != nullptr) return result;
  return machine.run_until(machine.current(), [&] { return *done; });
}

Result memcpy_dtod_async(Machine& machine, DevicePtr target, DevicePtr source, size_t bytes,
                         StreamHandle stream) {
  return push_access(machine, stream, {{nullptr, nullptr, target}, {nullptr, nullptr, source}},
                     bytes, [&machine, target, source, bytes] {
                       std::memmove(machine.memory.host(target), machine.memory.host(source),
                                    bytes);
                     });
}

Result memcpy_peer_async(Machine& machine, DevicePtr target, ContextHandle target_context,
                         DevicePtr source, ContextHandle source_context, size_t bytes,
                         StreamHandle stream) {
  Device* ends[2] = {nullptr, nullptr};
  for (Device& device : machine.devices) {
    if (device.context == target_context) ends[0] = &device;
    if (device.context == source_context) ends[1] = &device;
  }
  if (ends[0] == nullptr || ends[1] == nullptr) {
    return machine.violation(Result::kInvalidContext, "the context does not exist (any more)");
  }
  const bool is_direct = ends[0] == ends[1] ||
                         std::any_of(machine.pools.begin(), machine.pools.end(), [&](auto& entry) {
                           const Pool& pool = *entry.second;
                           return pool.device == ends[1] && pool.peers.count(ends[0]->ordinal) > 0;
                         });
  if (!is_direct) ++machine.staged_copies;
  return push_access(machine, stream, {{ends[0], nullptr, target}, {ends[1], nullptr, source}},
                     bytes, [&machine, target, source, bytes] {
                       std::memmove(machine.memory.host(target), machine.memory.host(source),
                                    bytes);
                     });
}

Result memset_d8_async(Machine& machine, DevicePtr target, unsigned char value, size_t bytes,
                       StreamHandle stream) {
  return push_access(
      machine, stream, {{nullptr, nullptr, target}}, bytes,
      [&machine, target, value, bytes] { std::memset(machine.memory.host(target), value, bytes); });
}

}  // namespace calls
}  // namespace sluice::emulated
