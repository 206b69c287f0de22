// A trace as one page for a browser.
#ifndef SLUICE_TRACE_HTML_H_
#define SLUICE_TRACE_HTML_H_

#include <string>
#include <string_view>

namespace sluice::trace {

// `trace_json`: the text of a trace (see trace/json_write.h). It is not checked here; the page
// reports errors when it is opened. The page (tools/trace/page/) needs no network and no other
// file.
std::string to_html(std::string_view trace_json);

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_HTML_H_
