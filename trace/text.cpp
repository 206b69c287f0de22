#include "trace/text.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "trace/format.h"
#include "trace/labels.h"
#include "trace/repeats.h"
#include "trace/window_group.h"

namespace sluice::trace {
namespace {

class TextWriter {
 public:
  TextWriter(const Trace& trace, const TextOptions& options)
      : trace_(trace), options_(options), labels_(trace) {}

  std::string write() {
    if (options_.heading) write_heading();
    std::set<int32_t> threads;
    for (const Window& window : trace_.windows) threads.insert(window.thread);
    for (const int32_t thread : threads) {
      if (threads.size() > 1) begin_paragraph(absl::StrCat("== ", labels_.thread(thread)));
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

  void begin_paragraph(absl::string_view line) {
    absl::StrAppend(&text_, text_.empty() ? "" : "\n", line, "\n");
  }

  void write_windows(const WindowGroup& group) {
    const Graph& graph = graph_of(group);
    begin_paragraph(absl::StrCat(describe_numbers(trace_, group), ", ", describe_causes(group),
                                 ": ", describe_graph(graph), ", plan ", describe_plan(group)));
    if (!options_.details) return;
    write_cause_text(group);
    if (options_.times) write_host_times(group);
    write_evictions(group);
    write_steps(graph, group);
    write_carried(graph);
    write_cuts(graph);
  }

  // Steps that repeat, as those of a loop's body, are written once.
  void write_steps(const Graph& graph, const WindowGroup& group) {
    std::vector<std::string> keys;
    for (const Step& step : graph.steps) {
      keys.push_back(absl::StrCat(step.kind == StepKind::kKernel ? "kernel " : "", step.name, " ",
                                  step.bytes_read, " ", step.bytes_written));
    }
    for (const Repeat& part : find_repeats(keys)) {
      if (part.count > 1) {
        absl::StrAppend(&text_, "  ", format_count(static_cast<int64_t>(part.count)),
                        part.length == 1 ? " times a step, of which the first is:\n"
                                         : absl::StrCat(" times ", part.length,
                                                        " steps, of which the first are:\n"));
      }
      for (size_t i = 0; i < part.length; ++i) write_step(graph, group, part.begin + i);
    }
  }

  // Cuts that differ in the numbers of values alone are one line.
  void write_cuts(const Graph& graph) {
    struct Alike {
      std::string line;  // of the first
      int64_t bytes = 0, count = 0;
    };
    std::vector<Alike> all;  // in order of appearance
    absl::flat_hash_map<std::string, size_t> numbers;
    for (const Cut& cut : graph.cuts) {
      if (is_carried(graph, cut)) continue;
      const std::string line = labels_.cut(graph, cut);
      const auto [known, is_new] = numbers.try_emplace(without_numbers(line), all.size());
      if (is_new) all.push_back({line});
      Alike& alike = all[known->second];
      alike.bytes += cut.bytes;
      ++alike.count;
    }
    for (const Alike& alike : all) {
      const std::string others =
          alike.count == 1 ? "" : absl::StrCat(", and ", alike.count - 1, " alike");
      write_cut("not fused", alike.bytes, alike.line + others);
    }
  }

  // t12 as t.
  static std::string without_numbers(absl::string_view line) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i) {
      text += line[i];
      const bool begins = line[i] == 't' && (i == 0 || !absl::ascii_isalnum(line[i - 1]));
      while (begins && i + 1 < line.size() && absl::ascii_isdigit(line[i + 1])) ++i;
    }
    return text;
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

  void write_evictions(const WindowGroup& group) {
    int64_t evicted = 0, bytes = 0, recomputed = 0;
    for (const int32_t window : group.windows) {
      evicted += trace_.windows[window].values_evicted;
      bytes += trace_.windows[window].bytes_evicted;
      recomputed += trace_.windows[window].values_recomputed;
    }
    if (evicted + recomputed == 0) return;
    absl::StrAppend(&text_, "  memory was short: ", count_of(evicted, "value"), " (",
                    format_bytes(bytes), ") given up, ", format_count(recomputed),
                    " computed again\n");
  }

  void write_host_times(const WindowGroup& group) {
    std::vector<std::string> parts;
    const auto add = [&](absl::string_view name, auto duration_of) {
      std::vector<int64_t> durations;
      for (const int32_t window : group.windows) {
        durations.push_back(duration_of(trace_.windows[window]));
      }
      const int64_t time = median(std::move(durations));
      if (time > 0) parts.push_back(absl::StrCat(name, " ", format_time(time)));
    };
    add("record", [](const Window& window) { return window.flushed - window.begin; });
    add("plan", [](const Window& window) { return window.plan_duration; });
    add("compile", [](const Window& window) { return window.compile_duration; });
    add("bind", [](const Window& window) { return window.bind_duration; });
    add("submit", [](const Window& window) { return window.submit_duration; });
    if (parts.empty()) return;
    absl::StrAppend(&text_, "  host: ", absl::StrJoin(parts, ", "),
                    group.count() > 1 ? " (medians)" : "", "\n");
  }

  void write_step(const Graph& graph, const WindowGroup& group, size_t number) {
    const Step& step = graph.steps[number];
    const StepTotal& total = group.steps[number];
    const int64_t bytes = step.bytes_read + step.bytes_written;
    absl::StrAppend(&text_, "  ", step.kind == StepKind::kKernel ? "kernel " : "library");
    if (options_.times) {
      const int64_t time = median_time(trace_, group, number);
      absl::StrAppend(&text_, "  ", pad_left(total.timed > 0 ? format_time(time) : "-", 8), "  ",
                      pad_left(format_bytes(bytes), 8), "  ",
                      pad_left(time > 0 ? format_rate(bytes, time) + " GB/s" : "-", 9));
    } else {
      absl::StrAppend(&text_, "  ", pad_left(format_bytes(bytes), 8));
    }
    absl::StrAppend(&text_, "  ", step.name);
    const std::string places = labels_.places(graph, step.ops);
    if (!places.empty()) absl::StrAppend(&text_, "  ", places);
    if (options_.times) absl::StrAppend(&text_, describe_tier(total.generic, total.timed));
    text_ += "\n";
  }

  // Windows pass many values on to later ones, mostly data and state: values with the same cause
  // share a line.
  static bool is_carried(const Graph& graph, const Cut& cut) {
    return cut.reason == "window" && absl::StartsWith(cut.text, value_of(graph, cut.producer));
  }

  void write_carried(const Graph& graph) {
    struct Carried {
      std::string cause;
      int64_t bytes = 0;
      std::set<int32_t> inputs;
      std::vector<int32_t> readers;
    };
    std::vector<Carried> all;  // in order of appearance
    for (const Cut& cut : graph.cuts) {
      if (!is_carried(graph, cut)) continue;
      const std::string cause = cut.text.substr(value_of(graph, cut.producer).size());
      auto carried = std::find_if(all.begin(), all.end(),
                                  [&](const Carried& other) { return other.cause == cause; });
      if (carried == all.end()) {
        carried = all.emplace(all.end());
        carried->cause = cause;
      }
      carried->bytes += cut.bytes;
      carried->inputs.insert(cut.producer);
      if (cut.consumer >= 0) carried->readers.push_back(cut.consumer);
    }
    for (const Carried& carried : all) {
      const std::string values =
          carried.inputs.size() == 1
              ? value_of(graph, *carried.inputs.begin())
              : absl::StrCat(carried.inputs.size(), " inputs, each of which");
      const std::string places = labels_.places(graph, carried.readers);
      write_cut(
          "carried  ", carried.bytes,
          absl::StrCat("window: ", values, carried.cause, places.empty() ? "" : "  ", places));
    }
  }

  void write_cut(absl::string_view title, int64_t bytes, const std::string& label) {
    absl::StrAppend(&text_, "  ", title, "  ", pad_left(format_bytes(bytes), 8), "  ", label, "\n");
  }

  const Trace& trace_;
  const TextOptions& options_;
  const Labels labels_;
  std::string text_;
};

}  // namespace

std::string to_text(const Trace& trace, const TextOptions& options) {
  return TextWriter(trace, options).write();
}

}  // namespace sluice::trace
