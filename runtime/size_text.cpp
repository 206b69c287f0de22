#include "runtime/size_text.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sluice::runtime {

std::string size_text(int64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, bytes == 1 ? " byte" : " bytes");
  auto size = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}) {
    if (size < 1023.5) break;
    size /= 1024;
    unit = next;
  }
  return absl::StrFormat("%.*f %s", size < 9.995 ? 2 : size < 99.95 ? 1 : 0, size, unit);
}

std::optional<int64_t> parse_size(std::string_view text) {
  const size_t end = text.find_first_not_of("0123456789.");
  const std::string number(text.substr(0, end));
  int64_t whole = 0;
  if (end == text.npos && absl::SimpleAtoi(number, &whole)) return whole;
  double value = 0;
  if (end == text.npos || !absl::SimpleAtod(number, &value)) return {};
  const std::string unit =
      absl::AsciiStrToUpper(absl::StripAsciiWhitespace(std::string(text.substr(end))));
  if (unit.empty()) return {};
  if (unit != "B") {
    const size_t power = std::string_view("KMGT").find(unit[0]);
    const std::string_view rest = std::string_view(unit).substr(1);
    if (power == std::string_view::npos) return {};
    if (!rest.empty() && rest != "B" && rest != "IB") return {};
    value *= std::pow(rest == "B" ? 1000. : 1024., static_cast<double>(power) + 1);
  }
  if (!(value < 0x1p63)) return {};
  return static_cast<int64_t>(value);
}

}  // namespace sluice::runtime
