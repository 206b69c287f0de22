// The functions of this process that compiled code calls. It refers to them by name, not by
// address, so that other processes can load it (kernels/cache/disk_cache.h). No LLVM header.
#ifndef SLUICE_KERNELS_LLVM_HOST_FUNCTIONS_H_
#define SLUICE_KERNELS_LLVM_HOST_FUNCTIONS_H_

#include "kernels/executable.h"
#include "kernels/math/external.h"

namespace sluice::kernels {

inline constexpr const char* kRaiseErrorName = "sluice_raise_error";
inline constexpr const char* kThreadBufferName = "sluice_thread_buffer";
inline constexpr const char* kExternalArrayName = "sluice_external_array";

struct HostFunction {
  const char* name;
  void* address;
};

inline const HostFunction kHostFunctions[] = {
    {kRaiseErrorName, reinterpret_cast<void*>(&raise_error)},
    {kThreadBufferName, reinterpret_cast<void*>(&thread_buffer)},
    {kExternalArrayName, reinterpret_cast<void*>(&math::external_array)},
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LLVM_HOST_FUNCTIONS_H_
