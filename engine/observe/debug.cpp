#include "engine/observe/debug.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "trace/text.h"

namespace sluice::engine {
namespace {

// In one piece: other threads write too.
void print(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace

int debug_level() {
  static const int level = [] {
    const char* text = std::getenv("SLUICE_DEBUG");
    int value = 0;
    return text != nullptr && absl::SimpleAtoi(text, &value) ? std::clamp(value, 0, 4) : 0;
  }();
  return level;
}

void print_window(const trace::Trace& trace) {
  std::string text = trace::to_text(trace, {.heading = false, .details = debug_level() > 1});
  for (const trace::Kernel& kernel : trace.kernels) {
    absl::StrAppend(&text, "kernel ", kernel.key, " (", kernel.name, ")");
    if (kernel.registers >= 0) {
      absl::StrAppend(&text, ", ", kernel.registers, " registers, ", kernel.spilled_bytes,
                      " bytes spilled, ", kernel.shared_bytes, " bytes shared");
    }
    absl::StrAppend(&text, "\n", kernel.source, kernel.assembly);
  }
  print(text);
}

std::function<void(const std::string& pass, const std::string& before, const std::string& after)>
pass_printer() {
  if (debug_level() < 3) return nullptr;
  return [](const std::string& pass, const std::string& before, const std::string& after) {
    print(absl::StrCat("pass ", pass, ", before:\n", before, "after:\n", after));
  };
}

}  // namespace sluice::engine
