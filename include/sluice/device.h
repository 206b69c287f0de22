// Devices: which there are, and where tensors are created.
#ifndef SLUICE_DEVICE_H_
#define SLUICE_DEVICE_H_

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace sluice {

enum class DeviceType : int32_t { kCpu, kCuda };

class Device {
 public:
  [[nodiscard]] static constexpr Device cpu() { return Device(DeviceType::kCpu, 0); }
  [[nodiscard]] static constexpr Device cuda(int index = 0) {
    return Device(DeviceType::kCuda, index);
  }

  [[nodiscard]] constexpr DeviceType type() const { return type_; }
  [[nodiscard]] constexpr int index() const { return index_; }
  constexpr bool operator==(const Device&) const = default;

 private:
  constexpr Device(DeviceType type, int index) : type_(type), index_(index) {}

  DeviceType type_;
  int32_t index_;
};

// "cpu", "cuda:0".
[[nodiscard]] std::string to_string(Device device);

// The devices this process can use: the CPU, then the CUDA devices.
[[nodiscard]] std::vector<Device> devices();

// Where tensors are created when no device is given. At first $SLUICE_DEVICE ("cpu", "cuda",
// "cuda:1"), else the first CUDA device, else the CPU. Both throw Error (kFailedPrecondition) if
// the device does not exist.
Device default_device();
void set_default_device(Device device);

// Throws Error (kFailedPrecondition) naming `device`, and why, if this process cannot use it.
void check_device(Device device);

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_DEVICE_H_
