#include "runtime/cuda/driver/launch_log.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace sluice::runtime::cuda {

uint64_t LaunchLog::add(absl::string_view label, uint64_t ticket) {
  std::lock_guard lock(mutex_);
  Entry& next = entry(++last_);
  next.ticket = ticket;
  next.length = static_cast<uint32_t>(std::min(label.size(), kLabelBytes));
  std::memcpy(next.label, label.data(), next.length);
  return last_;
}

void LaunchLog::drop(uint64_t number) {
  std::lock_guard lock(mutex_);
  if (last_ == number) --last_;
}

uint64_t LaunchLog::last() const {
  std::lock_guard lock(mutex_);
  return last_;
}

void LaunchLog::set_completed(uint64_t number) {
  std::lock_guard lock(mutex_);
  completed_ = std::max(completed_, number);
}

uint64_t LaunchLog::completed() const {
  if (device_progress_ == nullptr) return completed_;
  const uint32_t low = device_progress_->load(std::memory_order_relaxed);
  return std::max(completed_, last_ - (static_cast<uint32_t>(last_) - low));
}

std::string LaunchLog::name_of(uint64_t number) const {
  if (last_ - number >= kEntries) return absl::StrCat("launch ", number);
  const Entry& found = entry(number);
  return absl::StrCat(std::string(found.label, found.length), " (launch ", number, ")");
}

std::string LaunchLog::describe() const {
  std::lock_guard lock(mutex_);
  const uint64_t done = completed();
  if (done == last_) return "";
  const uint64_t suspect = done + 1;
  std::string text = absl::StrCat("first incomplete: ", name_of(suspect));
  if (last_ - suspect < kEntries) {
    uint64_t end = suspect;
    while (end < last_ && entry(end + 1).ticket == entry(suspect).ticket) ++end;
    if (end > suspect) absl::StrAppend(&text, ", submitted with all up to launch ", end);
  }
  if (done > 0) absl::StrAppend(&text, "; last completed: ", name_of(done));
  return text;
}

}  // namespace sluice::runtime::cuda
