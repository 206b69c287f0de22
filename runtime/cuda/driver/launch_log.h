// A log of a stream's latest launches, to attribute failures that are reported later.
#ifndef SLUICE_RUNTIME_CUDA_DRIVER_LAUNCH_LOG_H_
#define SLUICE_RUNTIME_CUDA_DRIVER_LAUNCH_LOG_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice::runtime::cuda {

// A ring of the newest kEntries launches. Thread-safe.
class LaunchLog {
 public:
  static constexpr uint64_t kEntries = 512;
  static constexpr size_t kLabelBytes = 108;  // longer labels are truncated

  // `device_progress`, unless null, is written by the device: the low bits of the number of the
  // last launch that it has reported as complete.
  explicit LaunchLog(const std::atomic<uint32_t>* device_progress)
      : device_progress_(device_progress), ring_(new Entry[kEntries]) {}

  // Logs a launch of batch `ticket`. Returns its number: 1, 2, ...
  uint64_t add(absl::string_view label, uint64_t ticket);
  // Removes launch `number`, which the driver refused, if it is the last.
  void drop(uint64_t number);
  // The number of the last launch.
  uint64_t last() const;
  // Records that all launches up to `number` are complete.
  void set_completed(uint64_t number);

  // "first incomplete: <label> (launch 7), submitted with all up to launch 9; last completed:
  // <label> (launch 6)"; empty if every launch is complete.
  std::string describe() const;

 private:
  struct Entry {
    uint64_t ticket = 0;
    uint32_t length = 0;
    char label[kLabelBytes];
  };
  Entry& entry(uint64_t number) const { return ring_[number % kEntries]; }
  std::string name_of(uint64_t number) const;
  uint64_t completed() const;

  const std::atomic<uint32_t>* const device_progress_;
  mutable std::mutex mutex_;
  const std::unique_ptr<Entry[]> ring_;
  uint64_t last_ = 0;
  uint64_t completed_ = 0;
};

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_DRIVER_LAUNCH_LOG_H_
