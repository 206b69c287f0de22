#include "runtime/cuda/driver/driver.h"

#include <mutex>
#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/shared_library.h"

namespace sluice::runtime::cuda {
namespace {

std::string version_text(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

absl::Status too_old(const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat("the CUDA driver is too old: ", why, "; CUDA ",
                                                    version_text(kOldestDriver),
                                                    " or later is needed"));
}

std::mutex mutex;
const Driver* replacement = nullptr;                 // guarded by `mutex`
std::optional<absl::StatusOr<const Driver*>> found;  // guarded by `mutex`

absl::StatusOr<const Driver*> find_driver() {
  const Driver* table = replacement;
  if (table == nullptr) {
    static const absl::StatusOr<Driver>* const kLoaded =
        new absl::StatusOr<Driver>(load_driver("libcuda.so.1"));
    if (!kLoaded->ok()) return kLoaded->status();
    table = &**kLoaded;
  }
  absl::Status status = start_driver(*table);
  if (!status.ok()) return status;
  return table;
}

}  // namespace

absl::StatusOr<Driver> load_driver(const char* name) {
  absl::StatusOr<SharedLibrary> library = SharedLibrary::open(name);
  if (!library.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no CUDA driver: ", std::string(library.status().message())));
  }
  Driver table;
#define SLUICE_CUDA_CALL(name, symbol, ...) library->find(#symbol, &table.name);
#include "runtime/cuda/driver/driver.def"
#undef SLUICE_CUDA_CALL
  if (!library->status().ok()) return too_old(std::string(library->status().message()));
  library->keep();
  return table;
}

absl::Status start_driver(const Driver& driver) {
  // Checked before cuInit, which an old driver may refuse for another reason.
  int version = 0;
  if (driver.driver_get_version(&version) == Result::kSuccess && version < kOldestDriver) {
    return too_old(absl::StrCat("it supports CUDA ", version_text(version)));
  }
  const Result started = driver.init(0);
  if (started == Result::kStubLibrary) {
    return absl::FailedPreconditionError("there is no CUDA driver, only the toolkit's stub of it");
  }
  int devices = 0;
  if (started != Result::kSuccess && started != Result::kNoDevice) {
    return absl::FailedPreconditionError(
        absl::StrCat("the CUDA driver cannot start: ", to_string(driver, started)));
  }
  if (started == Result::kSuccess) {
    const Result counted = driver.device_get_count(&devices);
    if (counted != Result::kSuccess) {
      return absl::FailedPreconditionError(
          absl::StrCat("the CUDA driver cannot list its devices: ", to_string(driver, counted)));
    }
  }
  if (devices == 0) {
    return absl::FailedPreconditionError(
        "the CUDA driver lists no device (is CUDA_VISIBLE_DEVICES set?)");
  }
  return absl::OkStatus();
}

absl::StatusOr<const Driver*> driver() {
  std::lock_guard lock(mutex);
  if (!found) found = find_driver();
  return *found;
}

void set_driver_for_testing(const Driver* driver) {
  std::lock_guard lock(mutex);
  replacement = driver;
  found.reset();
}

std::string to_string(const Driver& driver, Result result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.get_error_name(result, &name) != Result::kSuccess || name == nullptr) {
    return absl::StrCat("CUDA error ", static_cast<int>(result));
  }
  driver.get_error_string(result, &text);
  return absl::StrCat(name, " (", text == nullptr ? "" : text, ")");
}

absl::Status to_status(const Driver& driver, Result result, const char* call) {
  if (result == Result::kSuccess) return absl::OkStatus();
  const absl::StatusCode code = result == Result::kOutOfMemory
                                    ? absl::StatusCode::kResourceExhausted
                                    : absl::StatusCode::kInternal;
  return absl::Status(code, absl::StrCat(call, ": ", to_string(driver, result)));
}

absl::Status prefixed(absl::string_view what, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(what, ": ", status.message()));
}

}  // namespace sluice::runtime::cuda
