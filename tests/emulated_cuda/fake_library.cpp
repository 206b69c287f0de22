#include "tests/emulated_cuda/fake_library.h"

#include <algorithm>
#include <memory>

#include "runtime/cuda/driver/kernel_launch.h"

namespace sluice::emulated {

using runtime::cuda::Result;

LibraryHandle* open_handle(EmulatedCuda* emulator, const char* kernel) {
  auto made = std::make_unique<LibraryHandle>();
  const runtime::cuda::Driver& driver = emulator->driver();
  if (driver.module_load_data_ex(&made->module, EmulatedCuda::registered_image(), 0, nullptr,
                                 nullptr) != Result::kSuccess) {
    return nullptr;
  }
  if (driver.module_get_function(&made->kernel, made->module, kernel) != Result::kSuccess) {
    driver.module_unload(made->module);
    return nullptr;
  }
  return made.release();
}

void close_handle(EmulatedCuda* emulator, LibraryHandle* handle) {
  emulator->driver().module_unload(handle->module);
  delete handle;
}

bool launch(EmulatedCuda* emulator, const LibraryHandle& handle,
            std::span<const std::byte> parameters) {
  runtime::cuda::LaunchConfig config = {};
  std::fill_n(config.grid, 3, 1u);
  std::fill_n(config.block, 3, 1u);
  config.stream = handle.stream;
  runtime::cuda::ParamList list({parameters.data(), parameters.size()});
  return emulator->driver().launch_kernel_ex(&config, handle.kernel, nullptr, list.extra()) ==
         Result::kSuccess;
}

}  // namespace sluice::emulated
