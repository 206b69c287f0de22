#include "tools/trace/summary.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "trace/format.h"
#include "trace/labels.h"
#include "trace/window_group.h"

namespace sluice::trace {
namespace {

// Equal for steps that count as one.
std::string identify(const Trace& trace, const Graph& graph, const Step& step) {
  std::string text = absl::StrCat(graph.device, "\n", step.name);
  for (const int32_t kernel : step.kernels) {
    const std::string& key = trace.kernels[kernel].key;
    absl::StrAppend(&text, "\n", key.empty() ? absl::StrCat(kernel) : key);
  }
  if (step.kind == StepKind::kLibrary) {
    for (const int32_t input : step.inputs) absl::StrAppend(&text, "\n", type_of(graph.ops[input]));
  }
  return text;
}

std::string percent(int64_t part, int64_t whole) {
  return whole > 0 ? absl::StrCat((part * 100 + whole / 2) / whole, "%") : "";
}

std::string describe_part(size_t shown, size_t all) {
  return shown < all ? absl::StrCat(" (the first ", shown, " of ", format_count(all), ")") : "";
}

void append_steps(const Trace& trace, const Labels& labels, const Summary& summary, size_t count,
                  std::string* out) {
  count = std::min(count, summary.steps.size());
  absl::StrAppend(
      out, "kernels and library calls, ", format_time(summary.duration), " in all",
      describe_part(count, summary.steps.size()),
      ":\n     total  share       runs      mean     bytes       GB/s    GFLOP/s  name\n");
  for (size_t i = 0; i < count; ++i) {
    const StepUse& use = summary.steps[i];
    const Graph& graph = trace.graphs[use.graph];
    const Step& step = graph.steps[use.step];
    const std::string places = labels.places(graph, step.ops);
    absl::StrAppend(
        out, pad_left(use.timed > 0 ? format_time(use.duration) : "-", 10),
        pad_left(percent(use.duration, summary.duration), 7), pad_left(format_count(use.count), 11),
        pad_left(use.timed > 0 ? format_time(use.duration / use.timed) : "-", 10),
        pad_left(format_bytes(use.all_bytes), 10),
        pad_left(format_rate(use.bytes, use.duration), 11),
        pad_left(use.flops > 0 ? format_rate(use.flops, use.duration) : "", 11), "  ", step.name,
        places.empty() ? "" : "  ", places, describe_tier(use.generic, use.timed), "\n");
  }
}

void append_cuts(const Trace& trace, const Labels& labels, const Summary& summary, size_t count,
                 std::string* out) {
  count = std::min(count, summary.cuts.size());
  absl::StrAppend(out, "\ncut edges, ", format_bytes(summary.cut_bytes), " in all",
                  describe_part(count, summary.cuts.size()), ":\n     bytes       runs  reason\n");
  for (size_t i = 0; i < count; ++i) {
    const CutUse& use = summary.cuts[i];
    const Graph& graph = trace.graphs[use.graph];
    const Cut& cut = graph.cuts[use.cut];
    absl::StrAppend(out, pad_left(format_bytes(use.bytes), 10),
                    pad_left(format_count(use.count), 11), "  ", labels.cut(graph, cut), "\n");
  }
}

}  // namespace

Summary summarize(const Trace& trace) {
  Summary summary;
  absl::flat_hash_map<std::string, size_t> index;  // by identity
  for (const WindowGroup& group : group_by_graph(trace)) {
    if (group.windows.empty()) continue;
    const Graph& graph = trace.graphs[group.graph];
    for (size_t s = 0; s < graph.steps.size(); ++s) {
      const Step& step = graph.steps[s];
      const auto [found, is_new] =
          index.emplace(identify(trace, graph, step), summary.steps.size());
      if (is_new) {
        summary.steps.push_back({.graph = group.graph, .step = static_cast<int32_t>(s)});
      }
      StepUse& use = summary.steps[found->second];
      const StepTotal& total = group.steps[s];
      const int64_t bytes = step.bytes_read + step.bytes_written;
      use.count += group.count();
      use.timed += total.timed;
      use.duration += total.duration;
      use.generic += total.generic;
      use.bytes += bytes * total.timed;
      use.flops += step.flops * total.timed;
      use.all_bytes += bytes * group.count();
      summary.duration += total.duration;
    }
    for (size_t c = 0; c < graph.cuts.size(); ++c) {
      const int64_t bytes = graph.cuts[c].bytes * group.count();
      summary.cuts.push_back({.graph = group.graph,
                              .cut = static_cast<int32_t>(c),
                              .count = group.count(),
                              .bytes = bytes});
      summary.cut_bytes += bytes;
    }
  }
  std::stable_sort(
      summary.steps.begin(), summary.steps.end(), [](const StepUse& a, const StepUse& b) {
        return std::tuple(a.duration, a.all_bytes) > std::tuple(b.duration, b.all_bytes);
      });
  std::stable_sort(summary.cuts.begin(), summary.cuts.end(),
                   [](const CutUse& a, const CutUse& b) { return a.bytes > b.bytes; });
  return summary;
}

std::string to_text(const Trace& trace, const Summary& summary, size_t count) {
  const Labels labels(trace);
  std::string text;
  append_steps(trace, labels, summary, count, &text);
  append_cuts(trace, labels, summary, count, &text);
  return text;
}

}  // namespace sluice::trace
