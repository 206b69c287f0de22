// NVIDIA's library of matrix factors, cuSOLVER: its ABI as a table of functions. The library is
// loaded at run time: neither a toolkit nor a driver is needed to build or to start. Tests use
// tables of their own.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_CUSOLVER_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_CUSOLVER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/cuda/driver/driver_types.h"

namespace sluice::kernels::cuda {

// cusolverStatus_t
enum class SolverStatus : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 2,
  kInvalidValue = 3,
  kExecutionFailed = 6,
  kInternalError = 7,
};
// cublasFillMode_t: the triangle that is read.
enum class SolverFill : int { kLower = 0, kUpper = 1 };
// cublasOperation_t
enum class SolverTranspose : int { kNo = 0, kYes = 1 };
// cusolverEigMode_t
enum class SolverVectors : int { kNo = 0, kYes = 1 };
// cudaDataType
enum class SolverType : int { kFloat32 = 0, kFloat64 = 1 };

// Opaque objects of the library.
using SolverHandle = struct SolverContextObject*;
using SolverParams = struct SolverParamsObject*;

// The routines of one element type.
template <typename T>
struct CusolverOf {
#define SLUICE_CUSOLVER_ROUTINE(name, ...) SolverStatus (*name)(__VA_ARGS__) = nullptr;
#include "kernels/cuda/library/factor/cusolver.def"
};

struct Cusolver {
#define SLUICE_CUSOLVER_CALL(result, name, symbol, ...) result (*name)(__VA_ARGS__) = nullptr;
#include "kernels/cuda/library/factor/cusolver.def"
  CusolverOf<float> f32;
  CusolverOf<double> f64;

  template <typename T>
  const CusolverOf<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return f32;
    } else {
      return f64;
    }
  }
};

// The library for a driver that supports this CUDA version (12010: 12.1), which rules out those for
// later major versions. $SLUICE_CUSOLVER names a library to use instead, of any version, or is
// "off". kFailedPrecondition with a message for the user if there is none. Thread-safe; searches
// once.
absl::StatusOr<const Cusolver*> find_cusolver(int driver_version);

absl::StatusOr<Cusolver> load_cusolver(const std::string& name);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_CUSOLVER_H_
