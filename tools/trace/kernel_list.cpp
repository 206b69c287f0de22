#include "tools/trace/kernel_list.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "trace/format.h"
#include "trace/window_group.h"

namespace sluice::trace {
namespace {

constexpr size_t kShownOfKey = 12;

// By kernel: the steps that ran it.
std::vector<int64_t> count_runs(const Trace& trace) {
  std::vector<int64_t> runs(trace.kernels.size());
  for (const WindowGroup& group : group_by_graph(trace)) {
    for (const Step& step : trace.graphs[group.graph].steps) {
      for (const int32_t kernel : step.kernels) runs[kernel] += group.count();
    }
  }
  return runs;
}

std::string describe_resources(const Kernel& kernel) {
  std::vector<std::string> parts;
  if (kernel.registers >= 0) parts.push_back(absl::StrCat(kernel.registers, " registers"));
  if (kernel.spilled_bytes > 0) parts.push_back(absl::StrCat(kernel.spilled_bytes, " B spilled"));
  if (kernel.shared_bytes > 0) parts.push_back(absl::StrCat(kernel.shared_bytes, " B shared"));
  return absl::StrJoin(parts, ", ");
}

void append_part(absl::string_view title, absl::string_view text, std::string* out) {
  if (text.empty()) return;
  absl::StrAppend(out, "\n== ", title, "\n", text, absl::EndsWith(text, "\n") ? "" : "\n");
}

}  // namespace

std::string list_kernels(const Trace& trace) {
  const std::vector<int64_t> runs = count_runs(trace);
  std::string text = count_of(trace.kernels.size(), "kernel") +
                     "\n     #  key           from       compiling       runs  name\n";
  for (size_t k = 0; k < trace.kernels.size(); ++k) {
    const Kernel& kernel = trace.kernels[k];
    const bool took_time = kernel.compile_duration > 0;
    const std::string resources = describe_resources(kernel);
    absl::StrAppend(&text, pad_left(absl::StrCat(k), 6), "  ",
                    pad_right(kernel.key.substr(0, kShownOfKey), kShownOfKey), "  ",
                    pad_right(kernel.origin.empty() ? "-" : kernel.origin, 8), "  ",
                    pad_left(took_time ? format_time(kernel.compile_duration) : "-", 10),
                    pad_left(format_count(runs[k]), 11), "  ", kernel.name,
                    resources.empty() ? "" : "  (", resources, resources.empty() ? "" : ")", "\n");
  }
  return text;
}

absl::StatusOr<int32_t> find_kernel(const Trace& trace, absl::string_view number_or_key) {
  const int32_t count = static_cast<int32_t>(trace.kernels.size());
  int32_t number;
  if (absl::SimpleAtoi(number_or_key, &number) && number >= 0 && number < count) return number;
  std::vector<int32_t> found;
  for (int32_t k = 0; k < count; ++k) {
    if (trace.kernels[k].key == number_or_key) return k;
    if (absl::StartsWith(trace.kernels[k].key, number_or_key)) found.push_back(k);
  }
  if (found.size() == 1 && !number_or_key.empty()) return found[0];
  return absl::InvalidArgumentError(
      found.empty() ? absl::StrCat("there is no kernel '", number_or_key, "' among the ",
                                   format_count(count), " of the trace")
                    : absl::StrCat("the keys of ", format_count(found.size()),
                                   " kernels begin with '", number_or_key, "'"));
}

std::string describe_kernel(const Trace& trace, int32_t kernel) {
  const Kernel& found = trace.kernels[kernel];
  std::string text = absl::StrCat("kernel ", kernel, ": ", found.name, "\n");
  if (!found.key.empty()) absl::StrAppend(&text, "key ", found.key, "\n");
  absl::StrAppend(&text, found.origin.empty() ? "not compiled" : "code: ", found.origin);
  if (found.compile_duration > 0) {
    absl::StrAppend(&text, ", compiling took ", format_time(found.compile_duration));
  }
  const std::string resources = describe_resources(found);
  absl::StrAppend(&text, resources.empty() ? "" : "; ", resources, "\n");
  append_part("program", found.program, &text);
  append_part(absl::StrCat("source", found.language.empty() ? "" : ", ", found.language),
              found.source, &text);
  append_part("assembly", found.assembly, &text);
  return text;
}

}  // namespace sluice::trace
