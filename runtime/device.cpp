#include "sluice/runtime/device.h"

#include <cstdlib>
#include <mutex>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sluice/runtime/cpu/cpu_stream.h"
#include "sluice/runtime/error.h"
#include "sluice/runtime/stream.h"

namespace sluice {
namespace {

std::optional<Device> parse_device(const std::string& text) {
  if (text == "cpu") return Device::cpu();
  if (text == "cuda") return Device::cuda(0);
  int index = 0;
  if (absl::StartsWith(text, "cuda:") && absl::SimpleAtoi(text.substr(5), &index) && index >= 0) {
    return Device::cuda(index);
  }
  return std::nullopt;
}

Device device_from_environment() {
  const char* text = std::getenv("SLUICE_DEVICE");
  if (text == nullptr || *text == '\0') return Device::cpu();
  const std::optional<Device> device = parse_device(text);
  if (!device) {
    throw Error(absl::StatusCode::kInvalidArgument,
                absl::StrCat("SLUICE_DEVICE=", text, ": not a device; use cpu, cuda or cuda:N"));
  }
  check_device(*device);
  return *device;
}

std::mutex mutex;
std::optional<Device> current;  // guarded by `mutex`

}  // namespace

std::string to_string(Device device) {
  return device.type() == DeviceType::kCpu ? "cpu" : absl::StrCat("cuda:", device.index());
}

std::vector<Device> devices() { return {Device::cpu()}; }

Device default_device() {
  std::lock_guard lock(mutex);
  if (!current) current = device_from_environment();
  return *current;
}

void set_default_device(Device device) {
  check_device(device);
  std::lock_guard lock(mutex);
  current = device;
}

void check_device(Device device) {
  for (Device known : devices()) {
    if (known == device) return;
  }
  throw Error(absl::StatusCode::kFailedPrecondition,
              absl::StrCat("device ", to_string(device), " is not available in this process"));
}

namespace runtime {

std::unique_ptr<Stream> make_stream(Device device) {
  check_device(device);
  return make_cpu_stream();
}

}  // namespace runtime
}  // namespace sluice
