// Start-up, devices, contexts and messages.
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tests/emulated_cuda/machine.h"

namespace sluice::emulated {
namespace {

// This thread's context stack. It has no destructor, since it is used until the process ends.
struct ContextStack {
  static constexpr size_t kMost = 64;
  ContextHandle handles[kMost];
  size_t count;

  bool empty() const { return count == 0; }
  size_t size() const { return count; }
  ContextHandle back() const { return handles[count - 1]; }
  void push_back(ContextHandle handle) { handles[count++] = handle; }
  void pop_back() { --count; }
};
thread_local ContextStack contexts;

Device* device_of(Machine& machine, runtime::cuda::DeviceHandle handle) {
  if (handle < 0 || handle >= machine.options.devices) return nullptr;
  return &machine.devices[handle];
}

}  // namespace

Device* Machine::current() {
  if (contexts.empty()) return nullptr;
  for (Device& device : devices) {
    if (device.context == contexts.back()) return &device;
  }
  return nullptr;
}

size_t Machine::contexts_of_thread() { return contexts.size(); }

namespace calls {

Result init(Machine& machine, unsigned) {
  // A real driver is torn down when the process ends, in reverse order of what was registered.
  if (!std::exchange(Machine::ends_with_process, true)) {
    std::atexit([] { Machine::torn_down = true; });
  }
  machine.initialized = true;
  return machine.options.devices == 0 ? Result::kNoDevice : Result::kSuccess;
}

Result driver_get_version(Machine& machine, int* version) {
  *version = machine.options.driver_version;
  return Result::kSuccess;
}

Result device_get_count(Machine& machine, int* count) {
  if (!machine.initialized) return Result::kNotInitialized;
  *count = machine.options.devices;
  return Result::kSuccess;
}

Result device_get(Machine& machine, DeviceHandle* device, int ordinal) {
  if (device_of(machine, ordinal) == nullptr) return Result::kInvalidDevice;
  *device = ordinal;
  return Result::kSuccess;
}

Result device_get_name(Machine&, char* name, int size, DeviceHandle device) {
  std::snprintf(name, static_cast<size_t>(size), "Emulated GPU %d", device);
  return Result::kSuccess;
}

Result device_can_access_peer(Machine& machine, int* can, DeviceHandle device, DeviceHandle peer) {
  *can = machine.options.are_peers && device != peer ? 1 : 0;
  return Result::kSuccess;
}

Result device_get_attribute(Machine& machine, int* value, DeviceAttribute attribute, DeviceHandle) {
  switch (attribute) {
    case DeviceAttribute::kMaxThreadsPerBlock: *value = 1024; break;
    case DeviceAttribute::kRegistersPerBlock: *value = 65536; break;
    case DeviceAttribute::kMultiprocessors: *value = machine.options.multiprocessors; break;
    case DeviceAttribute::kL2Bytes: *value = 50 << 20; break;
    case DeviceAttribute::kThreadsPerMultiprocessor: *value = 2048; break;
    case DeviceAttribute::kComputeCapabilityMajor: *value = 9; break;
    case DeviceAttribute::kComputeCapabilityMinor: *value = 0; break;
    case DeviceAttribute::kSharedBytesPerMultiprocessor: *value = 228 << 10; break;
    case DeviceAttribute::kMaxSharedBytesPerBlock: *value = 227 << 10; break;
    case DeviceAttribute::kMemoryPools: *value = 1; break;
    default: return Result::kInvalidValue;
  }
  return Result::kSuccess;
}

Result device_total_mem(Machine& machine, size_t* bytes, DeviceHandle) {
  *bytes = machine.options.memory_bytes;
  return Result::kSuccess;
}

Result primary_ctx_retain(Machine& machine, ContextHandle* context, DeviceHandle handle) {
  Device* device = device_of(machine, handle);
  if (device == nullptr) return Result::kInvalidDevice;
  if (device->retained++ == 0) {
    device->context = machine.new_handle<ContextHandle>();
    device->sticky = Result::kSuccess;
  }
  *context = device->context;
  return Result::kSuccess;
}

Result primary_ctx_release(Machine& machine, DeviceHandle handle) {
  Device* device = device_of(machine, handle);
  if (device == nullptr || device->retained == 0) {
    return machine.violation(Result::kInvalidContext, "the context is not retained");
  }
  if (--device->retained == 0) device->context = nullptr;
  return Result::kSuccess;
}

Result ctx_push_current(Machine& machine, ContextHandle context) {
  for (const Device& device : machine.devices) {
    if (context == nullptr || device.context != context) continue;
    contexts.push_back(context);
    return Result::kSuccess;
  }
  return machine.violation(Result::kInvalidContext, "the context does not exist (any more)");
}

Result ctx_pop_current(Machine& machine, ContextHandle* context) {
  if (contexts.empty()) return machine.violation(Result::kInvalidContext, "there is no context");
  *context = contexts.back();
  contexts.pop_back();
  return Result::kSuccess;
}

Result ctx_synchronize(Machine& machine) {
  const Device* device = machine.current();
  if (device == nullptr) {
    return machine.violation(Result::kInvalidContext, "no context is current");
  }
  return machine.run_until(device, [&] {
    for (const auto& [handle, stream] : machine.streams) {
      if (stream->device == device && !stream->ops.empty()) return false;
    }
    return true;
  });
}

Result get_error_name(Machine&, Result result, const char** name) {
  switch (result) {
    case Result::kSuccess: *name = "CUDA_SUCCESS"; break;
    case Result::kInvalidValue: *name = "CUDA_ERROR_INVALID_VALUE"; break;
    case Result::kOutOfMemory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case Result::kInvalidHandle: *name = "CUDA_ERROR_INVALID_HANDLE"; break;
    case Result::kIllegalAddress: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    case Result::kLaunchOutOfResources: *name = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"; break;
    case Result::kLaunchFailed: *name = "CUDA_ERROR_LAUNCH_FAILED"; break;
    default: *name = nullptr; return Result::kInvalidValue;
  }
  return Result::kSuccess;
}

Result get_error_string(Machine&, Result result, const char** text) {
  *text = result == Result::kIllegalAddress ? "an illegal memory access was encountered"
                                            : "as the emulator has it";
  return Result::kSuccess;
}

}  // namespace calls
}  // namespace sluice::emulated
