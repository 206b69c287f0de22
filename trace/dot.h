// The graphs of a trace for Graphviz.
#ifndef SLUICE_TRACE_DOT_H_
#define SLUICE_TRACE_DOT_H_

#include <string>

#include "trace/trace.h"

namespace sluice::trace {

// One subgraph for each graph, and in it one for each step. An op that several steps compute is in
// each. Temporaries are grey, what no kernel computes is dashed, cut edges are red and say why.
std::string to_dot(const Trace& trace);

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_DOT_H_
