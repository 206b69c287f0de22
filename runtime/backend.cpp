#include "runtime/backend.h"
#include "runtime/status_error.h"

#include <sluice/error.h>
#include "absl/strings/str_cat.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cuda/backends.h"

namespace sluice::runtime {

absl::StatusOr<Backend*> find_backend(Device device) {
  if (device.type() == DeviceType::kCpu) return &cpu_backend();
  absl::StatusOr<Backend*> found = cuda::cuda_backend(device.index());
  if (!found.ok()) {
    return absl::Status(found.status().code(),
                        absl::StrCat("device ", to_string(device), ": ", found.status().message()));
  }
  return found;
}

Backend& backend(Device device) {
  const absl::StatusOr<Backend*> found = find_backend(device);
  if (!found.ok()) throw error_of(found.status());
  return **found;
}

void for_each_backend(absl::FunctionRef<void(Backend&)> f) {
  f(cpu_backend());
  for (Backend* backend : cuda::open_cuda_backends()) f(*backend);
}

}  // namespace sluice::runtime
