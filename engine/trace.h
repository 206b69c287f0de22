// What each window did: ops in, kernels out, and why it was cut where it was.
#ifndef SLUICE_ENGINE_TRACE_H_
#define SLUICE_ENGINE_TRACE_H_

#include <string>

namespace sluice::trace {

// Between start() and stop() every flushed window is recorded, the newest 1,024 of them.
// $SLUICE_TRACE=path starts at once and writes the text to `path` when the process ends.
void start();
void stop();

// One paragraph a window: its cause, ops, kernels, what was elided; one line a kernel; and for each
// operand that had to be written to memory between two kernels, the reason.
std::string to_text();
std::string to_json();
std::string to_dot();
// Writes to_json(), to_dot() or to_text() by the path's ending (.json, .dot, any other). Throws
// Error.
void write(const std::string& path);

}  // namespace sluice::trace

#endif  // SLUICE_ENGINE_TRACE_H_
