// The fusion trace: what ran, what was fused, what was not and why, what it cost, and which line of
// the program made it. docs/trace.md says what is in it.
#ifndef SLUICE_TRACE_H_
#define SLUICE_TRACE_H_

#include <string>

#pragma GCC visibility push(default)
namespace sluice {
namespace trace {

// Between start() and stop() every flushed window is recorded. The newest are kept: 16,384 windows
// at most, and fewer if they are very different or have very many steps. start() forgets what was
// recorded before. Ops that are pending when it is called have no call sites.
//
// $SLUICE_TRACE=path starts with the process and writes to `path` when it ends; see also
// $SLUICE_DEBUG (docs/trace.md). While nothing is recorded, recording costs an op two instructions.
// Graphs and kernels are described by the functions below, not while the program runs.
void start();
void stop();

// What has been recorded so far. Does not wait: times of windows that are still running are
// missing. The JSON and the page show source and assembly of kernels; generating them takes at most
// as long as recording has, or a second if that is longer.
[[nodiscard]] std::string to_text();
[[nodiscard]] std::string to_json();      // docs/trace.schema.json
[[nodiscard]] std::string to_dot();       // for Graphviz
[[nodiscard]] std::string to_html();      // a page that needs nothing else
[[nodiscard]] std::string to_perfetto();  // trace events, for Perfetto and Chrome

// Writes one of these by the path's ending: .perfetto.json, .json, .dot, .html, or text for any
// other. Throws Error.
void write(const std::string& path);

}  // namespace trace
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_TRACE_H_
