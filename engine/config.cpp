#include <sluice/config.h>

#include <cstdlib>
#include <optional>
#include <string_view>

#include <sluice/error.h>
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/size_text.h"

namespace sluice {
namespace {

[[noreturn]] void fail(const char* name, const char* value, const char* allowed) {
  throw Error(ErrorCode::kInvalidArgument, absl::StrCat(name, "=", value, ": use ", allowed));
}

void read(const char* name, bool* setting) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return;
  if (!absl::SimpleAtob(value, setting)) {
    const std::string_view text = value;
    if (text != "on" && text != "off") fail(name, value, "on or off");
    *setting = text == "on";
  }
}

void read(const char* name, int64_t least, int64_t* setting) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return;
  if (!absl::SimpleAtoi(value, setting) || *setting < least) {
    fail(name, value, absl::StrCat("an integer of at least ", least).c_str());
  }
}

void read_bytes(const char* name, int64_t least, int64_t* setting) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return;
  const std::optional<int64_t> bytes = runtime::parse_size(value);
  if (!bytes || *bytes < least) {
    fail(name, value,
         least == 0 ? "a size, such as 500M or 2GiB" : "a size above 0, such as 500M or 2GiB");
  }
  *setting = *bytes;
}

void read(const char* name, CompileMode* setting) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return;
  const std::string_view text = value;
  if (text == "async") {
    *setting = CompileMode::kAsync;
  } else if (text == "blocking") {
    *setting = CompileMode::kBlocking;
  } else if (text == "off") {
    *setting = CompileMode::kOff;
  } else {
    fail(name, value, "async, blocking or off");
  }
}

void read(const char* name, Validate* setting) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return;
  if (std::string_view(value) == "bits") {
    *setting = Validate::kBits;
    return;
  }
  bool is_on = false;
  if (std::string_view(value) != "off" && !absl::SimpleAtob(value, &is_on)) {
    fail(name, value, "off, bits or 1");
  }
  *setting = is_on ? Validate::kAll : Validate::kOff;
}

void read(const char* name, MatmulPrecision* setting) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return;
  const std::string_view text = value;
  if (text != "float32" && text != "tf32") fail(name, value, "float32 or tf32");
  *setting = text == "tf32" ? MatmulPrecision::kTf32 : MatmulPrecision::kFloat32;
}

Config from_environment() {
  Config config;
  read("SLUICE_FUSE", &config.fuse);
  read("SLUICE_COMPILE", &config.compile);
  read("SLUICE_DETERMINISTIC", &config.deterministic);
  read("SLUICE_FAST_MATH", &config.fast_math);
  read("SLUICE_MATMUL_PRECISION", &config.matmul_precision);
  read("SLUICE_VALIDATE", &config.validate);
  read("SLUICE_WINDOW_OPS", 1, &config.window_ops);
  read_bytes("SLUICE_MAX_PENDING_BYTES", 1, &config.max_pending_bytes);
  read_bytes("SLUICE_MEMORY_LIMIT", 0, &config.memory_limit);
  read("SLUICE_PLAN_CACHE_ENTRIES", 1, &config.plan_cache_entries);
  return config;
}

}  // namespace

Config& config() {
  static Config config = from_environment();
  return config;
}

}  // namespace sluice
