#include "trace/dot.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "trace/format.h"
#include "trace/labels.h"
#include "trace/window_group.h"

namespace sluice::trace {
namespace {

std::string quote(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

class GraphWriter {
 public:
  GraphWriter(const Trace& trace, const Labels& labels, const WindowGroup& group, std::string* out)
      : graph_(trace.graphs[group.graph]),
        labels_(labels),
        prefix_(absl::StrCat("g", group.graph)),
        title_(describe_numbers(trace, group)),
        out_(*out),
        stored_(graph_.ops.size()),
        home_(graph_.ops.size(), -1),
        is_drawn_(graph_.cuts.size()) {
    for (size_t s = 0; s < graph_.steps.size(); ++s) {
      const int32_t step = static_cast<int32_t>(s);
      for (const int32_t op : graph_.steps[s].ops) {
        if (home_[op] < 0) home_[op] = step;
      }
      for (const int32_t op : graph_.steps[s].outputs) {
        if (computes(step, op)) home_[op] = step;
        stored_[op] = true;
      }
    }
    for (size_t c = 0; c < graph_.cuts.size(); ++c) {
      cuts_.emplace(std::pair(graph_.cuts[c].producer, graph_.cuts[c].consumer), c);
    }
  }

  void write() {
    absl::StrAppend(&out_, "subgraph cluster_", prefix_, " {\n  label=",
                    quote(absl::StrCat(title_, graph_.device.empty() ? "" : " on ", graph_.device)),
                    ";\n");
    for (size_t s = 0; s < graph_.steps.size(); ++s) write_step(static_cast<int32_t>(s));
    for (int32_t op = 0; op < size(); ++op) {
      if (home_[op] < 0) write_node(op, -1);
    }
    for (int32_t op = 0; op < size(); ++op) {
      if (home_[op] < 0) write_operands(op, -1);
    }
    for (size_t s = 0; s < graph_.steps.size(); ++s) {
      for (const int32_t op : graph_.steps[s].ops) write_operands(op, static_cast<int32_t>(s));
    }
    for (size_t c = 0; c < graph_.cuts.size(); ++c) write_indirect_cut(c);
    out_ += "}\n";
  }

 private:
  int32_t size() const { return static_cast<int32_t>(graph_.ops.size()); }

  bool computes(int32_t step, int32_t op) const {
    const std::vector<int32_t>& ops = graph_.steps[step].ops;
    return std::find(ops.begin(), ops.end(), op) != ops.end();
  }

  // The op as `step` has it; -1: as no step has it.
  std::string node(int32_t op, int32_t step) const {
    return step < 0 ? absl::StrCat(prefix_, "_t", op) : absl::StrCat(prefix_, "_s", step, "_t", op);
  }
  // The op as `reader` sees it.
  std::string source(int32_t op, int32_t reader) const {
    return node(op, reader >= 0 && computes(reader, op) ? reader : home_[op]);
  }

  void write_node(int32_t op, int32_t step) {
    const Op& value = graph_.ops[op];
    std::string label = absl::StrCat(value_of(graph_, op), "\n", type_of(value));
    if (value.site >= 0) absl::StrAppend(&label, "\n", labels_.place(value.site));
    absl::string_view style;
    if (is_input(value)) {
      style = ", shape=ellipse";
    } else if (value.removed) {
      style = ", style=dashed, color=gray, fontcolor=gray";
    } else if (!value.live && !stored_[op]) {
      style = ", color=gray, fontcolor=gray";
    } else if (value.live) {
      style = ", style=bold";
    }
    absl::StrAppend(&out_, step < 0 ? "  " : "    ", node(op, step), " [label=", quote(label),
                    style, "];\n");
  }

  void write_step(int32_t s) {
    const Step& step = graph_.steps[s];
    absl::StrAppend(&out_, "  subgraph cluster_", prefix_, "_s", s, " {\n    label=",
                    quote(absl::StrCat(step.kind == StepKind::kKernel ? "kernel " : "library ", s,
                                       ": ", step.name, "\nreads ", format_bytes(step.bytes_read),
                                       ", writes ", format_bytes(step.bytes_written))),
                    ";\n");
    for (const int32_t op : step.ops) write_node(op, s);
    out_ += "  }\n";
  }

  void write_operands(int32_t op, int32_t step) {
    for (const int32_t operand : graph_.ops[op].operands) {
      absl::StrAppend(&out_, "  ", source(operand, step), " -> ", node(op, step));
      const auto cut = cuts_.find(std::pair(operand, op));
      if (cut != cuts_.end()) {
        is_drawn_[cut->second] = true;
        absl::StrAppend(&out_, attributes(graph_.cuts[cut->second]));
      }
      out_ += ";\n";
    }
  }

  // One that no operand stands for: it goes through views, or nothing reads it.
  void write_indirect_cut(size_t c) {
    const Cut& cut = graph_.cuts[c];
    if (is_drawn_[c]) return;
    if (cut.consumer >= 0) {
      absl::StrAppend(&out_, "  ", source(cut.producer, home_[cut.consumer]), " -> ",
                      node(cut.consumer, home_[cut.consumer]), attributes(cut), ";\n");
    } else {
      absl::StrAppend(&out_, "  ", node(cut.producer, home_[cut.producer]),
                      " [color=red, tooltip=", quote(tooltip(cut)), "];\n");
    }
  }

  static std::string tooltip(const Cut& cut) {
    return absl::StrCat(format_bytes(cut.bytes), ": ", cut.text.empty() ? cut.reason : cut.text);
  }
  static std::string attributes(const Cut& cut) {
    return absl::StrCat(" [color=red, fontcolor=red, label=", quote(cut.reason),
                        ", tooltip=", quote(tooltip(cut)), "]");
  }

  const Graph& graph_;
  const Labels& labels_;
  const std::string prefix_, title_;
  std::string& out_;
  std::vector<bool> stored_;   // by op: a step writes it to memory
  std::vector<int32_t> home_;  // by op: the step that writes it, or computes it first; or -1
  absl::flat_hash_map<std::pair<int32_t, int32_t>, size_t> cuts_;  // by producer and consumer
  std::vector<bool> is_drawn_;                                     // by cut
};

}  // namespace

std::string to_dot(const Trace& trace) {
  const Labels labels(trace);
  std::string text =
      "digraph sluice {\n  node [shape=box, fontname=\"monospace\"];\n"
      "  edge [fontname=\"monospace\"];\n";
  for (const WindowGroup& group : group_by_graph(trace)) {
    GraphWriter(trace, labels, group, &text).write();
  }
  return text + "}\n";
}

}  // namespace sluice::trace
