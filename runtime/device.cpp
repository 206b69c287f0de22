#include <sluice/device.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>

#include <sluice/error.h>
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/backend.h"
#include "runtime/cuda/backends.h"
#include "runtime/status_error.h"

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
  if (text == nullptr || *text == '\0') {
    // A program that names no device must not fail because of an unusable GPU.
    const bool usable =
        runtime::cuda::num_cuda_devices() > 0 && runtime::find_backend(Device::cuda(0)).ok();
    return usable ? Device::cuda(0) : Device::cpu();
  }
  const std::optional<Device> device = parse_device(text);
  if (!device) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("SLUICE_DEVICE=", text, ": not a device; use cpu, cuda or cuda:N"));
  }
  const absl::Status status = runtime::find_backend(*device).status();
  if (!status.ok()) {
    throw Error(code_of(status), absl::StrCat("SLUICE_DEVICE=", text, ": ", status.message()));
  }
  return *device;
}

std::mutex mutex;  // held while `current` changes
// Read by every creation function. -1: not determined yet; -2: the CPU; else the index of a GPU.
std::atomic<int> current{-1};

constexpr int kCpu = -2;

int to_number(Device device) { return device.type() == DeviceType::kCpu ? kCpu : device.index(); }

}  // namespace

std::string to_string(Device device) {
  return device.type() == DeviceType::kCpu ? "cpu" : absl::StrCat("cuda:", device.index());
}

std::vector<Device> devices() {
  std::vector<Device> result = {Device::cpu()};
  const int gpus = runtime::cuda::num_cuda_devices();
  for (int i = 0; i < gpus; ++i) result.push_back(Device::cuda(i));
  return result;
}

Device default_device() {
  int number = current.load(std::memory_order_acquire);
  if (number == -1) {
    std::lock_guard lock(mutex);
    number = current.load(std::memory_order_relaxed);
    if (number == -1) {
      number = to_number(device_from_environment());
      current.store(number, std::memory_order_release);
    }
  }
  return number == kCpu ? Device::cpu() : Device::cuda(number);
}

void set_default_device(Device device) {
  check_device(device);
  std::lock_guard lock(mutex);
  current.store(to_number(device), std::memory_order_release);
}

void check_device(Device device) {
  if (device.type() == DeviceType::kCpu) return;
  const absl::Status status = runtime::find_backend(device).status();
  if (!status.ok()) throw error_of(status);
}

}  // namespace sluice
