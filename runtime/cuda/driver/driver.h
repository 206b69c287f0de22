// The CUDA driver as a table of functions. libcuda.so.1 is loaded at run time: one binary runs with
// and without it. Tests put a table of their own in its place.
#ifndef SLUICE_RUNTIME_CUDA_DRIVER_DRIVER_H_
#define SLUICE_RUNTIME_CUDA_DRIVER_DRIVER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/cuda/driver/driver_types.h"

namespace sluice::runtime::cuda {

struct Driver {
#define SLUICE_CUDA_CALL(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
#include "runtime/cuda/driver/driver.def"
#undef SLUICE_CUDA_CALL
};

// What the CUDA documentation calls a member of the table: "cuEventQuery".
template <auto Call>
inline constexpr const char* kNameOf = nullptr;
#define SLUICE_CUDA_CALL(name, symbol, ...) \
  template <>                               \
  inline constexpr const char* kNameOf<&Driver::name> = #symbol;
#include "runtime/cuda/driver/driver.def"
#undef SLUICE_CUDA_CALL

// The oldest CUDA version that a driver may support: the first whose kernels take 32,764 bytes of
// parameters.
inline constexpr int kOldestDriver = 12010;

// The driver, ready for use. kFailedPrecondition, with a message for the user that says which, if
// there is none, it is too old, it cannot start, or it lists no device. Thread-safe; the answer is
// found once.
absl::StatusOr<const Driver*> driver();

// The steps of driver(): the table of a shared library, and whether a table can be used.
absl::StatusOr<Driver> load_driver(const char* name);
absl::Status start_driver(const Driver& driver);

// Replaces the driver; null brings the real one back. No device of the former may be in use.
void set_driver_for_testing(const Driver* driver);

// "CUDA_ERROR_INVALID_VALUE (invalid argument)".
std::string to_string(const Driver& driver, Result result);

// kResourceExhausted for memory that cannot be had, else kInternal; ok for kSuccess.
absl::Status to_status(const Driver& driver, Result result, const char* call);

// "<what>: <message>".
absl::Status prefixed(absl::string_view what, const absl::Status& status);

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_DRIVER_DRIVER_H_
