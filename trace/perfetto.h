// A trace as a time line, in Chrome's trace-event JSON, for https://ui.perfetto.dev.
#ifndef SLUICE_TRACE_PERFETTO_H_
#define SLUICE_TRACE_PERFETTO_H_

#include <string>

#include "trace/trace.h"

namespace sluice::trace {

// A process each for the host, the compilers and each device. A thread of the host has slices for
// the stages of its windows (record, plan, compile, bind, submit), a compiler for what it compiled,
// a device for its steps, apart by the thread that they are of. An arrow leads from a window's
// submission to its first step. Steps whose times are not known are left out.
std::string to_perfetto(const Trace& trace);

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_PERFETTO_H_
