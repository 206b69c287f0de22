// The differences between two runs. Times are not compared, as no two runs have the same; nor are
// places and names, as the program's source may have moved.
#ifndef SLUICE_TOOLS_TRACE_DIFF_H_
#define SLUICE_TOOLS_TRACE_DIFF_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/trace/graph_match.h"
#include "trace/trace.h"

namespace sluice::trace {

// A number that differs.
struct Figure {
  std::string name;
  int64_t a = 0, b = 0;
  bool is_bytes = false;
  bool is_of_disk = false;  // depends on the kernels that are on disk, and not on what ran
};

// Steps that compute the same ops in another way: a step was split, several were joined, or the
// same ops write other values. One side may be empty.
struct StepChange {
  std::vector<int32_t> a, b;
};

// Of a pair of graphs. If a graph has no counterpart, all of it is new or gone.
struct GraphDiff {
  GraphMatch match;
  std::vector<int32_t> new_cuts;                           // of b: fusions that were lost
  std::vector<int32_t> gone_cuts;                          // of a
  std::vector<std::pair<int32_t, int32_t>> other_reasons;  // cuts of the same edge, in a and b
  std::vector<int32_t> newly_held;                         // ops of b that are there afterwards
  std::vector<int32_t> no_longer_held;                     // ops of a, likewise
  std::vector<int32_t> new_ops;                            // of b
  std::vector<int32_t> gone_ops;                           // of a
  std::vector<int32_t> other_ops;  // of b: of another type than in a, or of other operands
  std::vector<StepChange> steps;
  bool other_device = false;

  bool empty() const;
};

struct Diff {
  std::vector<Figure> figures;
  std::vector<GraphDiff> graphs;      // those that differ
  std::vector<int32_t> new_kernels;   // of b
  std::vector<int32_t> gone_kernels;  // of a

  bool empty() const;
  // Nothing differs but, perhaps, which kernels were on disk.
  bool ran_alike() const;
};

Diff diff(const Trace& a, const Trace& b);

// "no difference", or a report. Lost fusions are sorted by bytes, the largest first.
std::string to_text(const Diff& diff, const Trace& a, const Trace& b);

}  // namespace sluice::trace

#endif  // SLUICE_TOOLS_TRACE_DIFF_H_
