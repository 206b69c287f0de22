#include "trace/format.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sluice::trace {
namespace {

// Three significant digits.
std::string format_number(double value) {
  return absl::StrFormat("%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
}

// The largest unit of which there is one. Units below the first are whole.
std::string scale(int64_t amount, double step, absl::Span<const absl::string_view> units) {
  if (amount < step) return absl::StrCat(amount, " ", units[0]);
  double value = static_cast<double>(amount);
  size_t unit = 0;
  while (value >= step - 0.5 && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  return absl::StrCat(format_number(value), " ", units[unit]);
}

}  // namespace

std::string format_count(int64_t count) {
  const std::string digits = absl::StrCat(count);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    const size_t left = digits.size() - i;
    if (i > (count < 0 ? 1 : 0) && left % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string format_time(int64_t ns) { return scale(ns, 1000, {"ns", "us", "ms", "s"}); }

std::string format_bytes(int64_t bytes) {
  return scale(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"});
}

std::string format_rate(int64_t amount, int64_t ns) {
  return ns > 0 ? format_number(static_cast<double>(amount) / static_cast<double>(ns)) : "";
}

std::string count_of(int64_t count, absl::string_view noun) {
  return absl::StrCat(format_count(count), " ", noun, count == 1 ? "" : "s");
}

std::string pad_left(absl::string_view text, size_t width) {
  return absl::StrCat(std::string(width > text.size() ? width - text.size() : 0, ' '), text);
}

std::string pad_right(absl::string_view text, size_t width) {
  return absl::StrCat(text, std::string(width > text.size() ? width - text.size() : 0, ' '));
}

}  // namespace sluice::trace
