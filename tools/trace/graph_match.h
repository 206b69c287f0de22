// Pairs the graphs of two traces, and their ops.
#ifndef SLUICE_TOOLS_TRACE_GRAPH_MATCH_H_
#define SLUICE_TOOLS_TRACE_GRAPH_MATCH_H_

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace sluice::trace {

struct GraphMatch {
  // A graph of each trace; -1: the other has no counterpart. Of graphs of one trace that are equal
  // in all but places and names, the first stands for all.
  int32_t a = -1, b = -1;
  // Windows of these graphs.
  int64_t windows_a = 0, windows_b = 0;
  // By op of `a`: the corresponding op of `b`, or -1; and vice versa. Empty without a counterpart.
  std::vector<int32_t> to_b, to_a;
};

// Every graph that has windows is in one match. Its counterpart is an equal graph if there is one;
// else a graph of the same ops whose held values or plan differ; else the most similar graph left,
// if half of the ops are the same. In the order of b's graphs, then of a's.
std::vector<GraphMatch> match_graphs(const Trace& a, const Trace& b);

}  // namespace sluice::trace

#endif  // SLUICE_TOOLS_TRACE_GRAPH_MATCH_H_
