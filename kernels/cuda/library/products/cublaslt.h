// NVIDIA's library of matrix products, cuBLASLt: its ABI as a table of functions. The library is
// loaded at run time: neither a toolkit nor a driver is needed to build or to start. Tests use
// tables of their own.
#ifndef SLUICE_KERNELS_CUDA_PRODUCTS_CUBLASLT_H_
#define SLUICE_KERNELS_CUDA_PRODUCTS_CUBLASLT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/cuda/driver/driver_types.h"

namespace sluice::kernels::cuda {

enum class LtStatus : int { kSuccess = 0, kInvalidValue = 7, kNotSupported = 15 };
enum class LtDataType : int { kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBFloat16 = 14 };
enum class LtCompute : int {
  kFloat32 = 68,  // rounds no operand, and sums half types in float32
  kFloat64 = 70,
  kTf32 = 77,  // rounds float32 operands to TF32
};
enum class LtLayoutAttribute : int { kBatchCount = 5, kBatchStride = 6 };
enum class LtOperationAttribute : int {
  kTransposeA = 3,
  kTransposeB = 4,
  kEpilogue = 7,
  kBiasPointer = 8,
};
enum class LtTranspose : int32_t { kNo = 0, kYes = 1 };
enum class LtEpilogue : uint32_t { kNone = 1, kRelu = 2, kBias = 4, kReluBias = 6 };
// In what parts of k that are computed apart are summed, as a mask.
enum class LtReduction : uint32_t { kAsComputed = 2 };
enum class LtPreferenceAttribute : int {
  kMaxWorkspaceBytes = 1,
  kReductionSchemes = 3,
  kMinAlignmentA = 5,
  kMinAlignmentB = 6,
  kMinAlignmentC = 7,
  kMinAlignmentD = 8,
};

// Opaque objects of the library.
using LtHandle = struct LtContextObject*;
using LtLayout = struct LtLayoutObject*;
using LtOperation = struct LtOperationObject*;
using LtPreference = struct LtPreferenceObject*;

struct LtAlgorithm {
  uint64_t data[8];
};
struct LtHeuristicResult {
  LtAlgorithm algorithm;
  size_t workspace_bytes;
  LtStatus state;
  float waves;
  int reserved[4];
};

struct CublasLt {
#define SLUICE_CUBLASLT_CALL(result, name, symbol, ...) result (*name)(__VA_ARGS__) = nullptr;
#include "kernels/cuda/library/products/cublaslt.def"
#undef SLUICE_CUBLASLT_CALL
};

// The library for a driver that supports this CUDA version (12010: 12.1), which rules out later
// major versions. $SLUICE_CUBLASLT names a library to use instead, of any version, or is "off".
// kFailedPrecondition with a message for the user if there is none. Thread-safe; searches once.
absl::StatusOr<const CublasLt*> find_cublaslt(int driver_version);

absl::StatusOr<CublasLt> load_cublaslt(const std::string& name);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_PRODUCTS_CUBLASLT_H_
