#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "tools/trace/diff.h"
#include "trace/format.h"
#include "trace/labels.h"

namespace sluice::trace {
namespace {

// A cut that only one of the traces has.
struct CutUse {
  const Graph* graph;
  const Cut* cut;
  int64_t windows;
  int64_t bytes;  // of all windows
};

struct Side {
  const Trace& trace;
  const Labels labels;
};

class Writer {
 public:
  Writer(const Diff& diff, const Trace& a, const Trace& b)
      : diff_(diff), a_{a, Labels(a)}, b_{b, Labels(b)} {}

  std::string write() {
    if (diff_.empty()) return "no difference\n";
    write_figures();
    write_cuts("lost fusions", /*of_b=*/true);
    write_cuts("fusions won", /*of_b=*/false);
    for (const GraphDiff& graph : diff_.graphs) write_graph(graph);
    write_kernels("new kernels", b_.trace, diff_.new_kernels);
    write_kernels("kernels gone", a_.trace, diff_.gone_kernels);
    return std::move(text_);
  }

 private:
  void write_figures() {
    for (const Figure& figure : diff_.figures) {
      const auto format = figure.is_bytes ? format_bytes : format_count;
      absl::StrAppend(&text_, pad_right(figure.name, 20), pad_left(format(figure.a), 12), " -> ",
                      format(figure.b));
      // Where rounding hides the difference.
      if (format(figure.a) == format(figure.b)) {
        absl::StrAppend(&text_, " (", figure.b > figure.a ? "+" : "",
                        format_count(figure.b - figure.a), " bytes)");
      }
      text_ += "\n";
    }
  }

  void write_cuts(absl::string_view title, bool of_b) {
    const Side& side = of_b ? b_ : a_;
    std::vector<CutUse> uses;
    int64_t bytes = 0;
    for (const GraphDiff& graph : diff_.graphs) {
      const int64_t windows = of_b ? graph.match.windows_b : graph.match.windows_a;
      for (const int32_t c : of_b ? graph.new_cuts : graph.gone_cuts) {
        const Graph& cut_graph = side.trace.graphs[of_b ? graph.match.b : graph.match.a];
        const Cut& cut = cut_graph.cuts[c];
        uses.push_back({&cut_graph, &cut, windows, cut.bytes * windows});
        bytes += uses.back().bytes;
      }
    }
    if (uses.empty()) return;
    std::stable_sort(uses.begin(), uses.end(),
                     [](const CutUse& x, const CutUse& y) { return x.bytes > y.bytes; });
    absl::StrAppend(&text_, "\n", title, ": ", count_of(uses.size(), "cut edge"), ", ",
                    format_bytes(bytes), "\n");
    for (const CutUse& use : uses) {
      absl::StrAppend(&text_, "  ", pad_left(format_bytes(use.bytes), 8), " in ",
                      count_of(use.windows, "window"), "  ", side.labels.cut(*use.graph, *use.cut),
                      "\n");
    }
  }

  void write_graph(const GraphDiff& graph) {
    const GraphMatch& match = graph.match;
    if (match.a < 0) {
      write_lonely("only in B", b_, match.b, match.windows_b);
      return;
    }
    if (match.b < 0) {
      write_lonely("only in A", a_, match.a, match.windows_a);
      return;
    }
    const Graph &before = a_.trace.graphs[match.a], &now = b_.trace.graphs[match.b];
    absl::StrAppend(&text_, "\n", describe(b_, match.b), ", ");
    if (match.windows_a == match.windows_b) {
      absl::StrAppend(&text_, count_of(match.windows_b, "window"), "\n");
    } else {
      absl::StrAppend(&text_, format_count(match.windows_a), " -> ",
                      count_of(match.windows_b, "window"), "\n");
    }
    if (graph.other_device) {
      absl::StrAppend(&text_, "  device  ", before.device, " -> ", now.device, "\n");
    }
    write_values("held now", now, b_.labels, graph.newly_held);
    write_values("no longer held", before, a_.labels, graph.no_longer_held);
    write_values("new op", now, b_.labels, graph.new_ops);
    write_values("op gone", before, a_.labels, graph.gone_ops);
    for (const int32_t op : graph.other_ops) write_other_op(before, now, match.to_a[op], op);
    for (const auto& [a, b] : graph.other_reasons) {
      absl::StrAppend(&text_, "  other reason  ", value_of(now, now.cuts[b].producer), ": ",
                      before.cuts[a].reason, " -> ", b_.labels.cut(now, now.cuts[b]), "\n");
    }
    for (const StepChange& change : graph.steps) {
      absl::StrAppend(&text_, "  ", describe_change(graph, before, now, change), "\n");
    }
  }

  // A graph by what is known of it at a glance.
  static std::string describe(const Side& side, int32_t number) {
    const Graph& graph = side.trace.graphs[number];
    std::vector<int32_t> ops;
    for (size_t op = 0; op < graph.ops.size(); ++op) {
      if (!is_input(graph.ops[op])) ops.push_back(static_cast<int32_t>(op));
    }
    const std::string places = side.labels.places(graph, ops);
    return absl::StrCat("graph of ", count_of(ops.size(), "op"), " and ",
                        count_of(graph.steps.size(), "step"), places.empty() ? "" : " at ", places);
  }

  void write_lonely(absl::string_view title, const Side& side, int32_t graph, int64_t windows) {
    absl::StrAppend(&text_, "\n", title, ": ", describe(side, graph), ", ",
                    count_of(windows, "window"), "\n");
    for (const Step& step : side.trace.graphs[graph].steps) {
      absl::StrAppend(&text_, "  ", name(step), "\n");
    }
  }

  void write_values(absl::string_view title, const Graph& graph, const Labels& labels,
                    const std::vector<int32_t>& ops) {
    for (const int32_t op : ops) {
      const std::string place = labels.place(graph.ops[op].site);
      absl::StrAppend(&text_, "  ", title, "  ", value_of(graph, op), " ", type_of(graph.ops[op]),
                      place.empty() ? "" : "  ", place, "\n");
    }
  }

  void write_other_op(const Graph& before, const Graph& now, int32_t a, int32_t b) {
    const std::string type_before = type_of(before.ops[a]), type_now = type_of(now.ops[b]);
    absl::StrAppend(
        &text_, "  changed  ", value_of(now, b), ": ",
        type_before == type_now ? "other operands" : absl::StrCat(type_before, " -> ", type_now),
        "\n");
  }

  static std::string name(const Step& step) {
    return absl::StrCat(step.kind == StepKind::kKernel ? "kernel " : "library ", step.name);
  }
  static std::string names(const Graph& graph, const std::vector<int32_t>& steps) {
    return absl::StrJoin(
        steps, " | ", [&](std::string* out, int32_t step) { out->append(graph.steps[step].name); });
  }

  static std::string describe_change(const GraphDiff& graph, const Graph& before, const Graph& now,
                                     const StepChange& change) {
    const size_t num_before = change.a.size(), num_now = change.b.size();
    if (num_before == 0) return absl::StrCat("new  ", names(now, change.b));
    if (num_now == 0) return absl::StrCat("gone  ", names(before, change.a));
    const char* title = num_before == 1 && num_now > 1   ? "split"
                        : num_before > 1 && num_now == 1 ? "joined"
                                                         : "changed";
    const std::string steps_before = names(before, change.a), steps_now = names(now, change.b);
    std::string text = absl::StrCat(title, "  ", steps_before);
    if (steps_before != steps_now) absl::StrAppend(&text, " -> ", steps_now);
    if (num_before == 1 && num_now == 1) {
      const Step &was = before.steps[change.a[0]], &is = now.steps[change.b[0]];
      append_values(", also writes ", now, is.outputs, was.outputs, graph.match.to_a, &text);
      append_values(", no longer writes ", before, was.outputs, is.outputs, graph.match.to_b,
                    &text);
    }
    return text;
  }

  // Those of `ops` whose counterparts are not among `others`.
  static void append_values(absl::string_view title, const Graph& graph,
                            const std::vector<int32_t>& ops, const std::vector<int32_t>& others,
                            const std::vector<int32_t>& counterparts, std::string* out) {
    absl::string_view separator = title;
    for (const int32_t op : ops) {
      if (std::find(others.begin(), others.end(), counterparts[op]) != others.end()) continue;
      absl::StrAppend(out, separator, value_of(graph, op));
      separator = ", ";
    }
  }

  void write_kernels(absl::string_view title, const Trace& trace,
                     const std::vector<int32_t>& kernels) {
    if (kernels.empty()) return;
    absl::StrAppend(&text_, "\n", title, ": ", kernels.size(), "\n");
    for (const int32_t k : kernels) {
      const Kernel& kernel = trace.kernels[k];
      absl::StrAppend(&text_, "  ", kernel.key, kernel.key.empty() ? "" : "  ", kernel.name, "\n");
    }
  }

  const Diff& diff_;
  const Side a_, b_;
  std::string text_;
};

}  // namespace

std::string to_text(const Diff& diff, const Trace& a, const Trace& b) {
  return Writer(diff, a, b).write();
}

}  // namespace sluice::trace
