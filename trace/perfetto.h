// A trace as a time line, in Chrome's trace-event JSON, for https://ui.perfetto.dev.
#ifndef SLUICE_TRACE_PERFETTO_H_
#define SLUICE_TRACE_PERFETTO_H_

#include <string>

#include "trace/trace.h"

namespace sluice::trace {

// The host, the compilers and each device are a process each. The host's threads have slices for
// the stages of their windows (record, plan, compile, bind, submit), compilers for compilations,
// devices for steps, with one line per host thread. An arrow leads from a window's submission to
// its first step. Steps without times are left out.
std::string to_perfetto(const Trace& trace);

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_PERFETTO_H_
