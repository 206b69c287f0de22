#include "sluice/trace/text.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "sluice/trace/format.h"
#include "sluice/trace/labels.h"
#include "sluice/trace/window_group.h"

namespace sluice::trace {
namespace {

class Writer {
 public:
  Writer(const Trace& trace, const TextOptions& options)
      : trace_(trace), options_(options), labels_(trace) {}

  std::string write() {
    write_heading();
    std::set<int32_t> threads;
    for (const Window& window : trace_.windows) threads.insert(window.thread);
    for (const int32_t thread : threads) {
      if (threads.size() > 1) absl::StrAppend(&text_, "\n== ", labels_.thread(thread), "\n");
      for (const WindowGroup& group : fold_windows(trace_, thread)) write_windows(group);
    }
    return std::move(text_);
  }

 private:
  const Graph& graph_of(const WindowGroup& group) const { return trace_.graphs[group.graph]; }

  void write_heading() {
    const int64_t windows = static_cast<int64_t>(trace_.windows.size());
    absl::StrAppend(&text_, trace_.program.empty() ? "trace" : trace_.program, ": ",
                    count_of(windows, "window"), ", ", count_of(trace_.graphs.size(), "graph"),
                    ", ", count_of(trace_.kernels.size(), "kernel"),
                    trace_.deterministic ? ", deterministic" : "", "\n");
    if (trace_.windows_recorded > windows) {
      absl::StrAppend(&text_, "the newest of ", count_of(trace_.windows_recorded, "window"), "\n");
    }
    const absl::string_view build = absl::StripTrailingAsciiWhitespace(trace_.build);
    if (!build.empty()) absl::StrAppend(&text_, build, "\n");
  }

  void write_windows(const WindowGroup& group) {
    const Graph& graph = graph_of(group);
    absl::StrAppend(&text_, "\n", describe_numbers(trace_, group), ", ", describe_causes(group),
                    ": ", describe_graph(graph), ", plan ", describe_plan(group), "\n");
    write_cause_text(group);
    if (options_.times) write_host_times(group);
    for (size_t i = 0; i < graph.steps.size(); ++i)
      write_step(graph, graph.steps[i], group.steps[i]);
    for (const Cut& cut : graph.cuts) write_cut(graph, cut);
  }

  static std::string describe_causes(const WindowGroup& group) {
    const auto append = [&](std::string* out, const auto& cause) {
      absl::StrAppend(out, cause.first.empty() ? "no cause" : cause.first);
      if (group.causes.size() > 1) absl::StrAppend(out, " x", format_count(cause.second));
    };
    return absl::StrJoin(group.causes, ", ", append);
  }

  static std::string describe_graph(const Graph& graph) {
    const auto num_ops = std::count_if(graph.ops.begin(), graph.ops.end(),
                                       [](const Op& op) { return !is_input(op); });
    const auto kernels =
        std::count_if(graph.steps.begin(), graph.steps.end(),
                      [](const Step& step) { return step.kind == StepKind::kKernel; });
    const int64_t library_calls = static_cast<int64_t>(graph.steps.size()) - kernels;
    std::string text = absl::StrCat(count_of(num_ops, "op"), " -> ", count_of(kernels, "kernel"));
    if (library_calls > 0) absl::StrAppend(&text, ", ", count_of(library_calls, "library call"));
    if (!graph.device.empty()) absl::StrAppend(&text, " on ", graph.device);
    if (graph.temporaries_elided > 0) {
      text +=
          absl::StrCat(", ",
                       graph.temporaries_elided == 1
                           ? "1 temporary"
                           : absl::StrCat(format_count(graph.temporaries_elided), " temporaries"),
                       " (", format_bytes(graph.bytes_elided), ") elided");
    }
    return text;
  }

  static std::string describe_plan(const WindowGroup& group) {
    const int64_t misses = group.count() - group.plan_hits;
    if (misses == 0) return "hit";
    if (group.count() == 1) return "miss";
    return absl::StrCat("missed ", format_count(misses), " of ", format_count(group.count()),
                        " times");
  }

  // Of the first window that has one.
  void write_cause_text(const WindowGroup& group) {
    absl::string_view first;
    bool differs = false;
    for (const int32_t window : group.windows) {
      const std::string& text = trace_.windows[window].cause_text;
      if (first.empty()) first = text;
      differs = differs || text != first;
    }
    if (!first.empty()) {
      absl::StrAppend(&text_, "  ", first, differs ? " (and others)" : "", "\n");
    }
  }

  // Means.
  void write_host_times(const WindowGroup& group) {
    std::vector<std::string> parts;
    const auto add = [&](absl::string_view name, int64_t sum) {
      if (sum > 0) parts.push_back(absl::StrCat(name, " ", format_time(sum / group.count())));
    };
    add("record", group.record);
    add("plan", group.plan);
    add("compile", group.compile);
    add("bind", group.bind);
    add("submit", group.submit);
    if (parts.empty()) return;
    absl::StrAppend(&text_, "  host: ", absl::StrJoin(parts, ", "),
                    group.count() > 1 ? " on average" : "", "\n");
  }

  void write_step(const Graph& graph, const Step& step, const StepTotal& total) {
    const int64_t bytes = step.bytes_read + step.bytes_written;
    absl::StrAppend(&text_, "  ", step.kind == StepKind::kKernel ? "kernel " : "library");
    if (options_.times) {
      const int64_t mean = total.timed > 0 ? total.duration / total.timed : 0;
      absl::StrAppend(&text_, "  ", pad_left(total.timed > 0 ? format_time(mean) : "-", 8), "  ",
                      pad_left(format_bytes(bytes), 8), "  ",
                      pad_left(mean > 0 ? format_rate(bytes, mean) + " GB/s" : "-", 9));
    } else {
      absl::StrAppend(&text_, "  ", pad_left(format_bytes(bytes), 8));
    }
    absl::StrAppend(&text_, "  ", step.name);
    const std::string places = labels_.places(graph, step.ops);
    if (!places.empty()) absl::StrAppend(&text_, "  ", places);
    if (options_.times) absl::StrAppend(&text_, describe_tier(total.generic, total.timed));
    text_ += "\n";
  }

  void write_cut(const Graph& graph, const Cut& cut) {
    absl::StrAppend(&text_, "  not fused  ", pad_left(format_bytes(cut.bytes), 8), "  ",
                    labels_.cut(graph, cut), "\n");
  }

  const Trace& trace_;
  const TextOptions& options_;
  const Labels labels_;
  std::string text_;
};

}  // namespace

std::string to_text(const Trace& trace, const TextOptions& options) {
  return Writer(trace, options).write();
}

}  // namespace sluice::trace
