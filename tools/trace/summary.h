// Where a program's time and memory traffic go, over all windows of a trace.
#ifndef SLUICE_TOOLS_TRACE_SUMMARY_H_
#define SLUICE_TOOLS_TRACE_SUMMARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace sluice::trace {

// Steps that run the same kernels, or the same library call on operands of the same types.
struct StepUse {
  int32_t graph = -1, step = -1;  // the first of them
  int64_t count = 0;
  // Of the runs with known times.
  int64_t timed = 0, duration = 0, generic = 0, bytes = 0, flops = 0;
  int64_t all_bytes = 0;  // of all runs
};

struct CutUse {
  int32_t graph = -1, cut = -1;
  int64_t count = 0;
  int64_t bytes = 0;  // of all of them
};

struct Summary {
  int64_t duration = 0;        // of all steps
  int64_t cut_bytes = 0;       // of all cuts
  std::vector<StepUse> steps;  // those that took longest first; without times, that moved most
  std::vector<CutUse> cuts;    // those of the most bytes first
};

Summary summarize(const Trace& trace);

// The first `count` of each as tables.
std::string to_text(const Trace& trace, const Summary& summary, size_t count);

}  // namespace sluice::trace

#endif  // SLUICE_TOOLS_TRACE_SUMMARY_H_
