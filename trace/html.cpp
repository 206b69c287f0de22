#include "trace/html.h"

#include <algorithm>

namespace sluice::trace {

// The page up to the place where the trace goes, and from there on: made by cmake/SluicePage.cmake
// of the files in tools/trace/page/.
extern const std::string_view kPageBeforeTrace;
extern const std::string_view kPageAfterTrace;

std::string to_html(std::string_view trace_json) {
  // Within a script element "</script" and "<!--" have a meaning. In JSON a '<' can only be in a
  // string, where it may be written as an escape.
  constexpr std::string_view kEscaped = "\\u003c";
  const auto escapes = std::count(trace_json.begin(), trace_json.end(), '<');
  std::string page;
  page.reserve(kPageBeforeTrace.size() + trace_json.size() + escapes * kEscaped.size() +
               kPageAfterTrace.size());
  page += kPageBeforeTrace;
  while (true) {
    const size_t end = trace_json.find('<');
    page += trace_json.substr(0, end);
    if (end == std::string_view::npos) break;
    page += kEscaped;
    trace_json.remove_prefix(end + 1);
  }
  page += kPageAfterTrace;
  return page;
}

}  // namespace sluice::trace
