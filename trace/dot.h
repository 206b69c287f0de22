// The graphs of a trace for Graphviz.
#ifndef SLUICE_TRACE_DOT_H_
#define SLUICE_TRACE_DOT_H_

#include <string>

#include "trace/trace.h"

namespace sluice::trace {

// One subgraph per graph, with one per step in it. An op that several steps compute is in each of
// them. Temporaries are grey, ops that no kernel computes are dashed, cut edges are red and
// labelled with their reason.
std::string to_dot(const Trace& trace);

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_DOT_H_
