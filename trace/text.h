// A trace as text for a terminal; docs/trace.md explains the lines.
#ifndef SLUICE_TRACE_TEXT_H_
#define SLUICE_TRACE_TEXT_H_

#include <string>

#include "trace/trace.h"

namespace sluice::trace {

struct TextOptions {
  bool heading = true;  // lines about the whole trace
  bool details = true;  // off: only the first line of each paragraph
  // Off: nothing that depends on speed. The texts of two runs of a deterministic program are then
  // equal.
  bool times = true;
};

// A paragraph per window or, in a loop, per graph; a line per step and per cut edge. Threads are
// listed separately.
std::string to_text(const Trace& trace, const TextOptions& options = {});

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_TEXT_H_
