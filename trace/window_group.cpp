#include "trace/window_group.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trace/format.h"

namespace sluice::trace {
namespace {

// How many windows from `begin` on repeat the first `period` of them, those included.
size_t length_of_cycle(const std::vector<int32_t>& graphs, size_t begin, size_t period) {
  size_t end = begin + period;
  while (end < graphs.size() && graphs[end] == graphs[end - period]) ++end;
  const size_t length = (end - begin) / period * period;
  return length > period ? length : 0;
}

// How many windows from `begin` on make one fold: of all cycles the one that is longest, and of
// these the shortest period. Others make none.
size_t length_of_fold(const std::vector<int32_t>& graphs, size_t begin) {
  size_t longest = 1;
  const size_t max_period = std::min(kMaxCycle, (graphs.size() - begin) / 2);
  for (size_t period = 1; period <= max_period; ++period) {
    longest = std::max(longest, length_of_cycle(graphs, begin, period));
  }
  return longest;
}

}  // namespace

void WindowGroup::add(const Trace& trace, int32_t window) {
  const Window& added = trace.windows[window];
  windows.push_back(window);
  plan_hits += added.plan_hit;
  steps.resize(trace.graphs[graph].steps.size());
  for (size_t i = 0; i < added.steps.size(); ++i) {
    ++steps[i].timed;
    steps[i].duration += added.steps[i].duration;
    steps[i].generic += added.steps[i].generic;
  }
  const auto cause = std::find_if(causes.begin(), causes.end(),
                                  [&](const auto& other) { return other.first == added.cause; });
  if (cause == causes.end()) {
    causes.emplace_back(added.cause, 1);
  } else {
    ++cause->second;
  }
}

std::vector<WindowGroup> group_by_graph(const Trace& trace) {
  std::vector<WindowGroup> groups(trace.graphs.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    groups[g].graph = static_cast<int32_t>(g);
    groups[g].steps.resize(trace.graphs[g].steps.size());
  }
  for (size_t w = 0; w < trace.windows.size(); ++w) {
    groups[trace.windows[w].graph].add(trace, static_cast<int32_t>(w));
  }
  return groups;
}

std::vector<WindowGroup> fold_windows(const Trace& trace, int32_t thread) {
  std::vector<int32_t> windows, graphs;
  for (size_t w = 0; w < trace.windows.size(); ++w) {
    if (trace.windows[w].thread != thread) continue;
    windows.push_back(static_cast<int32_t>(w));
    graphs.push_back(trace.windows[w].graph);
  }
  std::vector<WindowGroup> groups;
  for (size_t begin = 0; begin < windows.size();) {
    const size_t end = begin + length_of_fold(graphs, begin);
    const size_t first_group = groups.size();
    for (; begin < end; ++begin) {
      auto group =
          std::find_if(groups.begin() + static_cast<int64_t>(first_group), groups.end(),
                       [&](const WindowGroup& other) { return other.graph == graphs[begin]; });
      if (group == groups.end()) {
        groups.emplace_back().graph = graphs[begin];
        group = groups.end() - 1;
      }
      group->add(trace, windows[begin]);
    }
  }
  return groups;
}

int64_t median(std::vector<int64_t> durations) {
  if (durations.empty()) return 0;
  std::sort(durations.begin(), durations.end());
  const size_t middle = durations.size() / 2;
  return durations.size() % 2 == 1 ? durations[middle]
                                   : (durations[middle - 1] + durations[middle]) / 2;
}

int64_t median_time(const Trace& trace, const WindowGroup& group, size_t step) {
  const bool all_generic = group.steps[step].generic == group.steps[step].timed;
  std::vector<int64_t> durations;
  for (const int32_t window : group.windows) {
    const std::vector<StepRun>& runs = trace.windows[window].steps;
    if (step >= runs.size()) continue;
    if (all_generic || !runs[step].generic) durations.push_back(runs[step].duration);
  }
  return median(std::move(durations));
}

std::string describe_numbers(const Trace& trace, const WindowGroup& group) {
  if (group.windows.empty()) return "no windows";
  const auto number = [&](size_t i) { return trace.windows[group.windows[i]].number; };
  const size_t count = group.windows.size();
  const int64_t first = number(0), last = number(count - 1);
  if (count == 1) return absl::StrCat("window ", first);
  const std::string times = absl::StrCat(" (x", format_count(group.count()), ")");
  if (last - first == group.count() - 1) return absl::StrCat("windows ", first, "-", last, times);
  if (count == 2) return absl::StrCat("windows ", first, ", ", last, times);
  return absl::StrCat("windows ", first, ", ", number(1), ", ... ", last, times);
}

}  // namespace sluice::trace
