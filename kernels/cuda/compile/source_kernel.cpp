#include "kernels/cuda/compile/source_kernel.h"

#include "absl/strings/str_cat.h"
#include "kernels/gpu/run/call.h"

namespace sluice::kernels::cuda {

using runtime::cuda::Module;

absl::Status SourceKernel::compile() {
  if (is_ready()) return absl::OkStatus();
  std::lock_guard lock(mutex_);
  if (is_ready()) return absl::OkStatus();
  if (!refusal_.ok()) return refusal_;
  const auto named = [&](const absl::Status& status) {
    return runtime::cuda::prefixed(absl::StrCat("kernel ", name_), status);
  };
  const absl::StatusOr<CompiledCode> compiled = compiler_.compile(text_(), /*contracts=*/false);
  if (!compiled.ok()) return refusal_ = named(compiled.status());
  absl::StatusOr<std::unique_ptr<Module>> module = Module::load(&context_, compiled->image.c_str());
  if (!module.ok()) return named(module.status());
  const absl::StatusOr<runtime::cuda::Function> function = (*module)->function(name_.c_str());
  if (!function.ok()) return named(function.status());
  module_ = *std::move(module);
  function_ = *function;
  ready_.store(&function_, std::memory_order_release);
  return absl::OkStatus();
}

absl::Status SourceKernel::launch_grid(runtime::cuda::CudaStream* stream, const void* arguments,
                                       size_t bytes, int64_t blocks, absl::string_view label) {
  runtime::cuda::KernelLaunch launch;
  launch.function = ready_.load(std::memory_order_acquire)->handle;
  launch.grid[0] = static_cast<uint32_t>(blocks);
  launch.block[0] = kThreads;
  launch.params = {static_cast<const std::byte*>(arguments), bytes};
  return stream->launch(launch, label);
}

}  // namespace sluice::kernels::cuda
