// Which graph of one trace does what a graph of another does, and which op is which.
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
  // By op of `a`: the op of `b` that does the same, or -1; and the other way round. Empty without a
  // counterpart.
  std::vector<int32_t> to_b, to_a;
};

// Every graph that has windows is in one match: with an equal graph if there is one, else with one
// of the same ops, of which other values are held or which was planned otherwise, else with the
// most similar one of those left, if half of the ops are the same. In the order of b's, then of
// a's.
std::vector<GraphMatch> match_graphs(const Trace& a, const Trace& b);

}  // namespace sluice::trace

#endif  // SLUICE_TOOLS_TRACE_GRAPH_MATCH_H_
