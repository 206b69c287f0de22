// A trace to be read in a terminal: docs/trace.md explains the lines.
#ifndef SLUICE_TRACE_TEXT_H_
#define SLUICE_TRACE_TEXT_H_

#include <string>

#include "trace/trace.h"

namespace sluice::trace {

struct TextOptions {
  bool heading = true;  // what is said of the whole trace
  bool details = true;  // off: of each paragraph the first line alone
  // Off: nothing that depends on how fast what ran, so that the text of two runs of a deterministic
  // program is the same.
  bool times = true;
};

// A paragraph for each window or, of a loop, for all windows of equal graph; a line for each step
// and for each cut edge. Windows of different threads are apart.
std::string to_text(const Trace& trace, const TextOptions& options = {});

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_TEXT_H_
