// The types of the CUDA driver's ABI, as far as they are used, declared here so that building needs
// no toolkit.
#ifndef SLUICE_RUNTIME_CUDA_DRIVER_DRIVER_TYPES_H_
#define SLUICE_RUNTIME_CUDA_DRIVER_DRIVER_TYPES_H_

#include <cstddef>
#include <cstdint>

namespace sluice::runtime::cuda {

enum class Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStubLibrary = 34,  // the toolkit's stub for linking
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kEccUncorrectable = 214,
  kInvalidPtx = 218,
  kNvlinkUncorrectable = 220,
  kUnsupportedPtxVersion = 222,
  kContained = 226,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kContextIsDestroyed = 709,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kTensorMemoryLeak = 721,
  kNotPermitted = 800,
  kNotSupported = 801,
  kUnknown = 999,
};

// True if every later call on the context returns the same error until the process ends.
constexpr bool is_sticky(Result result) {
  switch (result) {
    case Result::kDeinitialized:
    case Result::kEccUncorrectable:
    case Result::kNvlinkUncorrectable:
    case Result::kContained:
    case Result::kIllegalAddress:
    case Result::kLaunchTimeout:
    case Result::kContextIsDestroyed:
    case Result::kAssert:
    case Result::kHardwareStackError:
    case Result::kIllegalInstruction:
    case Result::kMisalignedAddress:
    case Result::kInvalidAddressSpace:
    case Result::kInvalidPc:
    case Result::kLaunchFailed:
    case Result::kTensorMemoryLeak: return true;
    default: return false;
  }
}

using DeviceHandle = int;
using DevicePtr = unsigned long long;
using HostFunction = void (*)(void* data);

// Opaque objects of the driver.
using ContextHandle = struct ContextObject*;
using StreamHandle = struct StreamObject*;
using EventHandle = struct EventObject*;
using PoolHandle = struct PoolObject*;
using ModuleHandle = struct ModuleObject*;
using FunctionHandle = struct FunctionObject*;
using GraphHandle = struct GraphObject*;
using GraphNodeHandle = struct GraphNodeObject*;
using GraphExecHandle = struct GraphExecObject*;

enum class DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kRegistersPerBlock = 12,
  kMultiprocessors = 16,
  kL2Bytes = 38,
  kThreadsPerMultiprocessor = 39,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kSharedBytesPerMultiprocessor = 81,
  kMaxSharedBytesPerBlock = 97,  // after FunctionAttribute::kMaxDynamicSharedBytes
  kMemoryPools = 115,
};

enum class FunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kStaticSharedBytes = 1,
  kLocalBytes = 3,
  kRegisters = 4,
  kMaxDynamicSharedBytes = 8,
};

enum class PoolAttribute : int { kReleaseThreshold = 4 };

enum class PointerAttribute : int { kMemoryType = 2 };
inline constexpr unsigned kHostMemory = 1;  // a memory type: pinned

enum class JitOption : int { kErrorLog = 5, kErrorLogBytes = 6 };

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kHostAllocPortable = 1;
inline constexpr unsigned kHostAllocDeviceMap = 2;

// The `extra` argument of a launch: kParamsPointer, params, kParamsSize, &size, kParamsEnd.
inline void* const kParamsEnd = nullptr;
inline void* const kParamsPointer = reinterpret_cast<void*>(1);
inline void* const kParamsSize = reinterpret_cast<void*>(2);

struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  StreamHandle stream;
  void* attributes;
  unsigned num_attributes;
};

struct KernelNodeParams {
  FunctionHandle function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** params;
  void** extra;
  void* kernel;
  ContextHandle context;
};

struct PoolProperties {
  int allocation_type;  // kPinnedAllocation
  int handle_types;
  int location_type;  // kDeviceLocation
  int location;
  void* security;
  size_t max_bytes;
  unsigned short usage;
  unsigned char reserved[54];
};
struct AccessDescription {
  int location_type;  // kDeviceLocation
  int location;
  int flags;  // kAccessReadWrite
};
inline constexpr int kAccessReadWrite = 3;
inline constexpr int kPinnedAllocation = 1;
inline constexpr int kDeviceLocation = 1;

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_DRIVER_DRIVER_TYPES_H_
