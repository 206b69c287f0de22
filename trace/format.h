// Numbers for people. All but counts take at most eight characters. Independent of the locale.
#ifndef SLUICE_TRACE_FORMAT_H_
#define SLUICE_TRACE_FORMAT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice::trace {

std::string format_count(int64_t count);  // "1,000"
std::string format_time(int64_t ns);      // "850 ns", "12.3 us", "4.00 s"
std::string format_bytes(int64_t bytes);  // "512 B", "4.00 KiB"
// A rate, in billions per second: "13.3". Empty if the time is unknown.
std::string format_rate(int64_t amount, int64_t ns);

// "1 kernel", "2,000 kernels".
std::string count_of(int64_t count, absl::string_view noun);

std::string pad_left(absl::string_view text, size_t width);
std::string pad_right(absl::string_view text, size_t width);

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_FORMAT_H_
