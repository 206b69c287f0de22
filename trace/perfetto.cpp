#include "trace/perfetto.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "trace/labels.h"

namespace sluice::trace {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kHost = 1;
constexpr int kCompilers = 2;
constexpr int kFirstDevice = 3;

double microseconds(int64_t ns) { return static_cast<double>(ns) / 1000; }

// A line of the picture. Its slices must not overlap, nor begin before the trace.
struct Line {
  int process = 0, number = 0;
  int64_t end = 0;  // of its last slice
};

class EventList {
 public:
  void add(const Json& event) {
    absl::StrAppend(&text_, text_.empty() ? "" : ",\n",
                    event.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  void add_slice(const Line& line, std::string_view name, int64_t begin, int64_t duration,
                 Json args) {
    add({{"ph", "X"},
         {"name", name},
         {"pid", line.process},
         {"tid", line.number},
         {"ts", microseconds(begin)},
         {"dur", microseconds(duration)},
         {"args", std::move(args)}});
  }
  void add_metadata(const char* what, int process, int line, Json args) {
    add({{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", line}, {"args", std::move(args)}});
  }
  // An end of an arrow: "s" or "f". It belongs to the slice that is there at `time`.
  void add_arrow(const char* phase, const Line& line, int64_t time, int64_t id) {
    Json event = {
        {"ph", phase},         {"name", "flush"},    {"cat", "flush"},          {"id", id},
        {"pid", line.process}, {"tid", line.number}, {"ts", microseconds(time)}};
    if (*phase == 'f') event["bp"] = "e";
    add(event);
  }
  std::string finish() const {
    return absl::StrCat("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", text_, "\n]}\n");
  }

 private:
  std::string text_;
};

class Writer {
 public:
  explicit Writer(const Trace& trace) : trace_(trace), labels_(trace) {}

  std::string write() {
    name_process(kHost, trace_.program.empty() ? "host" : absl::StrCat("host: ", trace_.program));
    for (const Window& window : trace_.windows) write_window(window);
    for (const Event& event : trace_.events) write_event(event);
    return events_.finish();
  }

 private:
  void name_process(int process, const std::string& name) {
    events_.add_metadata("process_name", process, 0, {{"name", name}});
    events_.add_metadata("process_sort_index", process, 0, {{"sort_index", process}});
  }

  Line& new_line(int process, const std::string& name) {
    const int number = ++num_lines_;
    events_.add_metadata("thread_name", process, number, {{"name", name}});
    events_.add_metadata("thread_sort_index", process, number, {{"sort_index", number}});
    lines_of_[{process, name}].push_back({.process = process, .number = number});
    return lines_of_[{process, name}].back();
  }
  Line& line_of(int process, const std::string& name) {
    std::vector<Line>& lines = lines_of_[{process, name}];
    return lines.empty() ? new_line(process, name) : lines[0];
  }
  // The first line of this name that is free at `begin`. Overlapping slices get lines of their own.
  Line& free_line(int process, const std::string& name, int64_t begin) {
    for (Line& line : lines_of_[{process, name}]) {
      if (line.end <= begin) return line;
    }
    return new_line(process, name);
  }

  int process_of(const std::string& device) {
    const auto [found, is_new] =
        devices_.emplace(device, kFirstDevice + static_cast<int>(devices_.size()));
    if (is_new) name_process(found->second, device.empty() ? "device" : device);
    return found->second;
  }

  void write_window(const Window& window) {
    Line& line = line_of(kHost, labels_.thread(window.thread));
    const Graph& graph = trace_.graphs[window.graph];
    const Json args = {{"window", window.number},
                       {"graph", window.graph},
                       {"cause", window.cause},
                       {"why", window.cause_text},
                       {"ops", std::count_if(graph.ops.begin(), graph.ops.end(),
                                             [](const Op& op) { return !is_input(op); })},
                       {"steps", graph.steps.size()},
                       {"plan", window.plan_hit ? "hit" : "miss"}};
    // Ops that remained pending at the flush before were recorded before it, or before the trace.
    const int64_t begin = std::max(window.begin, line.end);
    if (window.flushed > begin) {
      events_.add_slice(line, "record", begin, window.flushed - begin, args);
    }
    int64_t at = std::max(window.flushed, begin);
    const auto add_stage = [&](const char* name, int64_t duration) {
      if (duration > 0) events_.add_slice(line, name, at, duration, args);
      at += duration;
    };
    add_stage("plan", window.plan_duration);
    add_stage("compile", window.compile_duration);
    add_stage("bind", window.bind_duration);
    const int64_t submission = at;
    // The arrow needs something to start from.
    add_stage("submit", std::max<int64_t>(window.submit_duration, 1));
    line.end = at;
    if (window.steps.empty()) return;
    events_.add_arrow("s", line, submission, window.number);
    write_steps(window, graph);
  }

  void write_steps(const Window& window, const Graph& graph) {
    const int process = process_of(graph.device);
    size_t first = 0;
    for (size_t i = 0; i < window.steps.size(); ++i) {
      if (window.steps[i].begin < window.steps[first].begin) first = i;
    }
    for (size_t i = 0; i < window.steps.size(); ++i) {
      const StepRun& run = window.steps[i];
      Line& line = free_line(process, labels_.thread(window.thread), run.begin);
      events_.add_slice(line, graph.steps[i].name, run.begin, run.duration,
                        describe_step(window, graph, i, run));
      line.end = run.begin + run.duration;
      if (i == first) events_.add_arrow("f", line, run.begin, window.number);
    }
  }

  Json describe_step(const Window& window, const Graph& graph, size_t step, const StepRun& run) {
    Json args = {{"window", window.number}};
    args.update(description_of(window.graph, step));
    if (run.duration > 0) {
      const Step& done = graph.steps[step];
      const double bytes = static_cast<double>(done.bytes_read + done.bytes_written);
      args["GB/s"] = bytes / static_cast<double>(run.duration);
    }
    if (run.generic) args["tier"] = "generic";
    return args;
  }

  // What all runs of a step have in common.
  const Json& description_of(int32_t graph, size_t number) {
    Json& args = descriptions_[{graph, number}];
    if (!args.is_null()) return args;
    const Step& step = trace_.graphs[graph].steps[number];
    args = {{"kind", step.kind == StepKind::kKernel ? "kernel" : "library"},
            {"ops", step.ops.size()},
            {"bytes_read", step.bytes_read},
            {"bytes_written", step.bytes_written}};
    if (step.flops > 0) args["flops"] = step.flops;
    const std::string site = labels_.places(trace_.graphs[graph], step.ops);
    if (!site.empty()) args["site"] = site;
    for (const int32_t kernel : step.kernels) args["kernels"].push_back(trace_.kernels[kernel].key);
    return args;
  }

  void write_event(const Event& event) {
    if (!has_compilers_) name_process(kCompilers, "compilers");
    has_compilers_ = true;
    Json args = Json::object();
    if (event.kernel >= 0) {
      args["kernel"] = trace_.kernels[event.kernel].name;
      args["key"] = trace_.kernels[event.kernel].key;
    }
    Line& line = free_line(kCompilers, event.lane, event.begin);
    events_.add_slice(line, event.name, event.begin, event.duration, std::move(args));
    line.end = event.begin + event.duration;
  }

  const Trace& trace_;
  const Labels labels_;
  EventList events_;
  absl::flat_hash_map<std::pair<int, std::string>, std::vector<Line>> lines_of_;
  absl::flat_hash_map<std::string, int> devices_;                       // the process of each
  absl::flat_hash_map<std::pair<int32_t, size_t>, Json> descriptions_;  // by graph and step
  int num_lines_ = 0;
  bool has_compilers_ = false;
};

}  // namespace

std::string to_perfetto(const Trace& trace) { return Writer(trace).write(); }

}  // namespace sluice::trace
