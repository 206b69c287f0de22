// Modules, functions, launches.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/emulated_cuda/kernels.h"
#include "tests/emulated_cuda/machine.h"
#include "tests/ptx_device/memory_map.h"

namespace sluice::emulated {
namespace {

constexpr size_t kMaxParamBytes = 32764;
constexpr int kMaxSharedBytes = 227 << 10;
constexpr int kRegisters = 65536;

// The driver's result for a launch that exceeds the limits.
Result check_limits(const Geometry& geometry, const Function& function, std::string* why) {
  const unsigned* grid = geometry.grid;
  const unsigned* block = geometry.block;
  for (int i = 0; i < 3; ++i) {
    if (grid[i] == 0 || block[i] == 0) {
      *why = "an empty grid or block";
      return Result::kInvalidValue;
    }
  }
  if (grid[0] > 0x7fffffffu || grid[1] > 65535 || grid[2] > 65535) {
    *why = "a grid that is too large";
    return Result::kInvalidValue;
  }
  const uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
  if (threads > 1024 || block[2] > 64) {
    *why = "a block that is too large";
    return Result::kInvalidValue;
  }
  if (geometry.shared_bytes > static_cast<unsigned>(function.max_dynamic_shared)) {
    *why = "more shared memory than the function was told";
    return Result::kInvalidValue;
  }
  // Registers are allocated per warp in units of 256.
  const uint64_t warps = (threads + 31) / 32;
  const uint64_t registers = (function.traits.registers * 32 + 255) / 256 * 256;
  if (warps * registers > kRegisters) {
    *why = "more registers than there are";
    return Result::kLaunchOutOfResources;
  }
  return Result::kSuccess;
}

}  // namespace

Result Machine::prepare(Device* device, FunctionHandle handle, const Geometry& geometry,
                        void** params, void** extra, Kernel* kernel) {
  const auto function = find(functions, handle);
  if (function == nullptr) return Result::kInvalidHandle;
  if (function->device != device) {
    return violation(Result::kInvalidHandle, "the function is loaded on another device");
  }
  if (params != nullptr || extra == nullptr) {
    return violation(Result::kInvalidValue, "the size of the parameters is not known");
  }
  const std::byte* bytes = nullptr;
  size_t size = 0;
  for (int i = 0; extra[i] != runtime::cuda::kParamsEnd; i += 2) {
    if (extra[i] == runtime::cuda::kParamsPointer) {
      bytes = static_cast<const std::byte*>(extra[i + 1]);
    } else if (extra[i] == runtime::cuda::kParamsSize) {
      size = *static_cast<const size_t*>(extra[i + 1]);
    }
  }
  if (size > kMaxParamBytes) return violation(Result::kInvalidValue, "too many parameters");
  std::string why;
  const Result result = check_limits(geometry, *function, &why);
  if (result != Result::kSuccess) return violation(result, why);
  kernel->function = function;
  kernel->geometry = geometry;
  kernel->geometry.param_bytes = size;
  kernel->params.assign(bytes, bytes + size);
  resolve(kernel);
  return Result::kSuccess;
}

void Machine::resolve(Kernel* kernel) {
  kernel->pointers.clear();
  for (size_t at = 0; at + 8 <= kernel->params.size(); at += 8) {
    DevicePtr value = 0;
    std::memcpy(&value, kernel->params.data() + at, 8);
    if (!memory.is_device_address(value)) continue;
    const AllocationRef to = memory.find(value);
    kernel->pointers.push_back({at, to});
    if (to != nullptr) check_access(kernel->function->device, to, value, 0, false);
  }
}

void Machine::run(const Kernel& kernel) {
  Device* device = kernel.function->device;
  ++kernels_run;
  if (options.is_dry) {
    launches.push_back(
        {kernel.function->name, kernel.geometry.grid[0], kernel.geometry.block[0], kernel.params});
    return;
  }
  if (kernel_fault && kernel_fault->at == kernels_run) {
    raise(device, kernel_fault->result);
    kernel_fault.reset();
    return;
  }
  std::vector<std::byte> params = kernel.params;
  for (const Kernel::Pointer& pointer : kernel.pointers) {
    DevicePtr value = 0;
    std::memcpy(&value, params.data() + pointer.at, 8);
    if (pointer.to != nullptr && !check_access(device, pointer.to, value, 0, true)) return;
    const std::byte* there = memory.host(value);
    std::memcpy(params.data() + pointer.at, &there, 8);
  }
  // A kernel whose only parameter is an address reads its arguments from a table there.
  std::vector<uint64_t> table;
  if (kernel.params.size() == 8 && kernel.pointers.size() == 1) {
    DevicePtr value = 0;
    std::memcpy(&value, kernel.params.data(), 8);
    table = read_table(value);
    const uint64_t* there = table.data();
    std::memcpy(params.data(), &there, 8);
  }
  ptx::MemoryMap& map = ptx::MemoryMap::of_thread();
  if (kernel.function->checks_memory) {
    map = {};
    for (const AllocationRef& allocation : memory.live(device->ordinal)) {
      map.add(memory.host(allocation->begin), allocation->bytes, true);
    }
    for (const auto& [address, block] : pinned_blocks) map.add(address, block->bytes, true);
    if (!table.empty()) map.add(table.data(), 8 * table.size(), false);
  }
  const char* error = kernel.function->run(kernel.geometry, params.data());
  map = {};
  if (error == nullptr) return;
  violation(Result::kLaunchFailed, kernel.function->name + ": " + error);
  raise(device, Result::kLaunchFailed);
}

std::vector<uint64_t> Machine::read_table(DevicePtr begin) {
  const AllocationRef home = memory.find(begin);
  if (home == nullptr) return {};
  std::vector<uint64_t> table((home->begin + home->bytes - begin) / 8);
  std::memcpy(table.data(), memory.host(begin), 8 * table.size());
  for (uint64_t& word : table) {
    if (!memory.is_device_address(word)) continue;
    // Data after the table may be stale. An untranslated address crashes a kernel that uses it.
    const AllocationRef to = memory.find(word);
    if (to != nullptr && to->life != Allocation::Life::kLive) continue;
    word = reinterpret_cast<uint64_t>(memory.host(word));
  }
  return table;
}

namespace calls {

Result module_load_data_ex(Machine& machine, ModuleHandle* handle, const void* image,
                           unsigned num_options, JitOption* jit_options, void** values) {
  Device* device = machine.current();
  if (device == nullptr) {
    return machine.violation(Result::kInvalidContext, "no context is current");
  }
  auto module = std::make_shared<Module>(Module{device, nullptr});
  if (image != EmulatedCuda::registered_image() && !machine.options.is_dry) {
    std::string error;
    module->library = open_image(image, &error);
    for (unsigned i = 0; i < num_options && module->library == nullptr; ++i) {
      if (jit_options[i] != JitOption::kErrorLog) continue;
      std::snprintf(static_cast<char*>(values[i]), 256, "%s", error.c_str());
    }
    if (module->library == nullptr) return Result::kInvalidImage;
  }
  machine.modules[*handle = machine.new_handle<ModuleHandle>()] = module;
  return Result::kSuccess;
}

Result module_unload(Machine& machine, ModuleHandle handle) {
  const auto module = machine.find(machine.modules, handle);
  if (module == nullptr) return Result::kInvalidHandle;
  bool in_use = false;
  std::erase_if(machine.functions, [&](const auto& entry) {
    if (entry.second->module != handle) return false;
    in_use |= entry.second.use_count() > 1;
    return true;
  });
  if (in_use) machine.violation(Result::kInvalidValue, "a kernel of it is yet to run");
  if (module->library != nullptr && !in_use) close_image(module->library);
  machine.modules.erase(handle);
  return Result::kSuccess;
}

Result module_get_function(Machine& machine, FunctionHandle* handle, ModuleHandle module_handle,
                           const char* name) {
  const auto module = machine.find(machine.modules, module_handle);
  if (module == nullptr) return Result::kInvalidHandle;
  auto function = std::make_shared<Function>();
  function->device = module->device;
  function->module = module_handle;
  function->name = name;
  if (machine.options.is_dry) {
    function->run = [](const Geometry&, const void*) -> const char* { return nullptr; };
  } else if (module->library != nullptr) {
    function->run = find_kernel(module->library, name);
    function->checks_memory = checks_memory(module->library);
  } else if (const auto it = machine.registered.find(name); it != machine.registered.end()) {
    function->run = it->second.first;
    function->traits = it->second.second;
  }
  if (!function->run) return Result::kNotFound;
  machine.functions[*handle = machine.new_handle<FunctionHandle>()] = function;
  return Result::kSuccess;
}

Result func_get_attribute(Machine& machine, int* value, FunctionAttribute attribute,
                          FunctionHandle handle) {
  const auto function = machine.find(machine.functions, handle);
  if (function == nullptr) return Result::kInvalidHandle;
  const KernelTraits& traits = function->traits;
  switch (attribute) {
    case FunctionAttribute::kMaxThreadsPerBlock:
      *value = std::min(1024, kRegisters / std::max(1, traits.registers) / 32 * 32);
      break;
    case FunctionAttribute::kStaticSharedBytes: *value = traits.static_shared_bytes; break;
    case FunctionAttribute::kLocalBytes: *value = traits.local_bytes; break;
    case FunctionAttribute::kRegisters: *value = traits.registers; break;
    case FunctionAttribute::kMaxDynamicSharedBytes: *value = function->max_dynamic_shared; break;
  }
  return Result::kSuccess;
}

Result func_set_attribute(Machine& machine, FunctionHandle handle, FunctionAttribute attribute,
                          int value) {
  const auto function = machine.find(machine.functions, handle);
  if (function == nullptr) return Result::kInvalidHandle;
  if (attribute != FunctionAttribute::kMaxDynamicSharedBytes ||
      value + function->traits.static_shared_bytes > kMaxSharedBytes) {
    return machine.violation(Result::kInvalidValue, "more shared memory than there is");
  }
  function->max_dynamic_shared = value;
  return Result::kSuccess;
}

Result launch_kernel_ex(Machine& machine, const LaunchConfig* config, FunctionHandle function,
                        void** params, void** extra) {
  const auto stream = machine.find(machine.streams, config->stream);
  if (stream == nullptr) return Result::kInvalidHandle;
  if (!machine.must_be_current(stream->device)) return Result::kInvalidContext;
  Geometry geometry;
  std::copy_n(config->grid, 3, geometry.grid);
  std::copy_n(config->block, 3, geometry.block);
  geometry.shared_bytes = config->shared_bytes;
  Kernel kernel;
  const Result result = machine.prepare(stream->device, function, geometry, params, extra, &kernel);
  if (result != Result::kSuccess) return result;
  machine.push(stream.get(), [&machine, kernel = std::move(kernel)] {
    machine.run(kernel);
    return true;
  });
  return Result::kSuccess;
}

}  // namespace calls
}  // namespace sluice::emulated
