// The arguments of one kernel launch.
#ifndef SLUICE_RUNTIME_CUDA_DRIVER_KERNEL_LAUNCH_H_
#define SLUICE_RUNTIME_CUDA_DRIVER_KERNEL_LAUNCH_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/cuda/driver/driver_types.h"

namespace sluice::runtime::cuda {

// Limit of one kernel's parameters, in bytes.
inline constexpr size_t kMaxParamBytes = 32764;

struct KernelLaunch {
  FunctionHandle function = nullptr;
  std::array<uint32_t, 3> grid = {1, 1, 1};   // x up to 2^31 - 1, y and z up to 65,535
  std::array<uint32_t, 3> block = {1, 1, 1};  // at most 1,024 threads in all
  uint32_t shared_bytes = 0;                  // dynamic
  // The kernel's parameters in their memory layout, usually one struct. Copied by the launch.
  absl::Span<const std::byte> params;
};

// The parameters in the driver's form. Refers to `params` and to itself.
class ParamList {
 public:
  explicit ParamList(absl::Span<const std::byte> params)
      : bytes_(params.size()),
        extra_{kParamsPointer, const_cast<std::byte*>(params.data()), kParamsSize, &bytes_,
               kParamsEnd} {}
  ParamList(const ParamList&) = delete;
  ParamList& operator=(const ParamList&) = delete;

  void** extra() { return extra_; }

 private:
  size_t bytes_;
  void* extra_[5];
};

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_DRIVER_KERNEL_LAUNCH_H_
