// The CUDA driver as a table of functions, loaded from libcuda.so.1 at run time, so that one binary
// runs with and without it. Tests substitute their own table.
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

// The CUDA name of a member of the table, such as "cuEventQuery".
template <auto Call>
inline constexpr const char* kNameOf = nullptr;
#define SLUICE_CUDA_CALL(name, symbol, ...) \
  template <>                               \
  inline constexpr const char* kNameOf<&Driver::name> = #symbol;
#include "runtime/cuda/driver/driver.def"
#undef SLUICE_CUDA_CALL

// The oldest supported CUDA version: the first with 32,764 bytes of kernel parameters.
inline constexpr int kOldestDriver = 12010;

// The initialised driver. kFailedPrecondition, with a message for the user, if it is missing or too
// old, fails to initialise or lists no device. Determined once. Thread-safe.
absl::StatusOr<const Driver*> driver();

// The steps of driver(): loads the table from a shared library; checks and initialises it.
absl::StatusOr<Driver> load_driver(const char* name);
absl::Status start_driver(const Driver& driver);

// Replaces the driver; null restores the real one. No device of the previous one may be in use.
void set_driver_for_testing(const Driver* driver);

// "CUDA_ERROR_INVALID_VALUE (invalid argument)".
std::string to_string(const Driver& driver, Result result);

// kResourceExhausted if memory ran out, else kInternal; ok for kSuccess.
absl::Status to_status(const Driver& driver, Result result, const char* call);

// "<what>: <message>".
absl::Status prefixed(absl::string_view what, const absl::Status& status);

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_DRIVER_DRIVER_H_
