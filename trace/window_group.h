// Windows of one graph, taken together.
#ifndef SLUICE_TRACE_WINDOW_GROUP_H_
#define SLUICE_TRACE_WINDOW_GROUP_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trace/trace.h"

namespace sluice::trace {

struct StepTotal {
  int64_t timed = 0;  // runs whose time is known
  int64_t duration = 0;
  int64_t generic = 0;  // runs on the generic tier
};

struct WindowGroup {
  int32_t graph = -1;
  std::vector<int32_t> windows;  // indices, in order
  int64_t plan_hits = 0;
  std::vector<StepTotal> steps;                         // by Graph::steps
  std::vector<std::pair<std::string, int64_t>> causes;  // how often, in order of appearance

  int64_t count() const { return static_cast<int64_t>(windows.size()); }
  void add(const Trace& trace, int32_t window);
};

// One for each graph of the trace, in order; some may be empty.
std::vector<WindowGroup> group_by_graph(const Trace& trace);

// The windows of one thread in the order in which they ran, with loops folded: where a sequence of
// up to kMaxCycle graphs repeats immediately, the windows of each graph form one group.
inline constexpr size_t kMaxCycle = 256;
std::vector<WindowGroup> fold_windows(const Trace& trace, int32_t thread);

// 0 if there are none.
int64_t median(std::vector<int64_t> durations);

// Of the step's runs that were compiled or, if there are none, of all. 0 if no time is known.
int64_t median_time(const Trace& trace, const WindowGroup& group, size_t step);

// "window 3", "windows 3-1002 (x1,000)", "windows 3, 5, ... 1001 (x500)", "no windows"
std::string describe_numbers(const Trace& trace, const WindowGroup& group);

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_WINDOW_GROUP_H_
