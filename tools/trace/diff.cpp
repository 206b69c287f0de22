#include "tools/trace/diff.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trace/labels.h"

namespace sluice::trace {
namespace {

std::vector<Figure> figures_of(const Trace& trace) {
  enum { kWindows, kMisses, kOps, kKernels, kCalls, kRead, kWritten, kElided, kBytesElided, kMade };
  std::vector<Figure> figures = {{"windows"},
                                 {"plan misses"},
                                 {"ops"},
                                 {"kernels run"},
                                 {"library calls"},
                                 {"bytes read", 0, 0, true},
                                 {"bytes written", 0, 0, true},
                                 {"temporaries elided"},
                                 {"bytes elided", 0, 0, true},
                                 {"kernels compiled", 0, 0, false, true}};
  figures[kWindows].b =
      std::max(trace.windows_recorded, static_cast<int64_t>(trace.windows.size()));
  for (const Window& window : trace.windows) {
    const Graph& graph = trace.graphs[window.graph];
    figures[kMisses].b += !window.plan_hit;
    figures[kOps].b += std::count_if(graph.ops.begin(), graph.ops.end(),
                                     [](const Op& op) { return !is_input(op); });
    for (const Step& step : graph.steps) {
      ++figures[step.kind == StepKind::kKernel ? kKernels : kCalls].b;
      figures[kRead].b += step.bytes_read;
      figures[kWritten].b += step.bytes_written;
    }
    figures[kElided].b += graph.temporaries_elided;
    figures[kBytesElided].b += graph.bytes_elided;
  }
  for (const Kernel& kernel : trace.kernels) figures[kMade].b += kernel.origin == "compiled";
  return figures;
}

std::vector<Figure> compare_figures(const Trace& a, const Trace& b) {
  const std::vector<Figure> of_a = figures_of(a);
  std::vector<Figure> figures = figures_of(b);
  for (size_t i = 0; i < figures.size(); ++i) figures[i].a = of_a[i].b;
  std::erase_if(figures, [](const Figure& figure) { return figure.a == figure.b; });
  return figures;
}

const std::string& identity(const Kernel& kernel) {
  return kernel.key.empty() ? kernel.name : kernel.key;
}

// The kernels of `trace` that `other` does not have.
std::vector<int32_t> kernels_missing_in(const Trace& other, const Trace& trace) {
  absl::flat_hash_set<std::string> known;
  for (const Kernel& kernel : other.kernels) known.insert(identity(kernel));
  std::vector<int32_t> missing;
  for (size_t k = 0; k < trace.kernels.size(); ++k) {
    if (known.insert(identity(trace.kernels[k])).second) {
      missing.push_back(static_cast<int32_t>(k));
    }
  }
  return missing;
}

// One pair of graphs.
class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b, GraphDiff* diff)
      : a_(a), b_(b), to_b_(diff->match.to_b), to_a_(diff->match.to_a), diff_(*diff) {}

  void compare() {
    diff_.other_device = a_.device != b_.device;
    compare_ops();
    compare_cuts();
    compare_steps();
  }

 private:
  using Edge = std::pair<int32_t, int32_t>;

  // The op of b; what b does not have gets a number that no op has.
  int32_t in_b(int32_t op) const { return to_b_[op] >= 0 ? to_b_[op] : -2 - op; }
  std::vector<int32_t> in_b(const std::vector<int32_t>& ops) const {
    std::vector<int32_t> result;
    for (const int32_t op : ops) result.push_back(in_b(op));
    return result;
  }

  void compare_ops() {
    for (int32_t op = 0; op < static_cast<int32_t>(a_.ops.size()); ++op) {
      if (to_b_[op] < 0) {
        diff_.gone_ops.push_back(op);
      } else if (a_.ops[op].live && !b_.ops[to_b_[op]].live) {
        diff_.no_longer_held.push_back(op);
      }
    }
    for (int32_t op = 0; op < static_cast<int32_t>(b_.ops.size()); ++op) {
      if (to_a_[op] < 0) {
        diff_.new_ops.push_back(op);
        continue;
      }
      const Op &before = a_.ops[to_a_[op]], &now = b_.ops[op];
      if (now.live && !before.live) diff_.newly_held.push_back(op);
      if (type_of(before) != type_of(now) || in_b(before.operands) != now.operands) {
        diff_.other_ops.push_back(op);
      }
    }
  }

  void compare_cuts() {
    absl::flat_hash_map<Edge, std::vector<int32_t>> left;  // a's cuts that b does not have
    for (int32_t c = 0; c < static_cast<int32_t>(a_.cuts.size()); ++c) {
      const Cut& cut = a_.cuts[c];
      left[{in_b(cut.producer), cut.consumer < 0 ? -1 : in_b(cut.consumer)}].push_back(c);
    }
    for (int32_t c = 0; c < static_cast<int32_t>(b_.cuts.size()); ++c) {
      const auto found = left.find(Edge(b_.cuts[c].producer, b_.cuts[c].consumer));
      if (found == left.end() || found->second.empty()) {
        diff_.new_cuts.push_back(c);
        continue;
      }
      const int32_t before = found->second.front();
      found->second.erase(found->second.begin());
      if (a_.cuts[before].reason != b_.cuts[c].reason) diff_.other_reasons.emplace_back(before, c);
    }
    for (const auto& [edge, cuts] : left) {
      diff_.gone_cuts.insert(diff_.gone_cuts.end(), cuts.begin(), cuts.end());
    }
    std::sort(diff_.gone_cuts.begin(), diff_.gone_cuts.end());
  }

  // Steps that compute the same have a counterpart; the others belong together as far as they have
  // ops in common.
  void compare_steps() {
    const size_t size_of_a = a_.steps.size(), size_of_b = b_.steps.size();
    std::vector<std::vector<int32_t>> ops;  // of a's steps and then of b's, as ops of b
    for (const Step& step : a_.steps) ops.push_back(in_b(step.ops));
    for (const Step& step : b_.steps) ops.push_back(step.ops);
    for (std::vector<int32_t>& list : ops) std::sort(list.begin(), list.end());

    absl::flat_hash_map<std::string, std::vector<int32_t>> same;  // a's steps by ops, last first
    std::vector<bool> has_counterpart(ops.size());
    const auto describe = [&](size_t step, StepKind kind) {
      return absl::StrCat(static_cast<int>(kind), " ", absl::StrJoin(ops[step], " "));
    };
    for (size_t s = size_of_a; s-- > 0;) {
      same[describe(s, a_.steps[s].kind)].push_back(static_cast<int32_t>(s));
    }
    for (size_t s = 0; s < size_of_b; ++s) {
      std::vector<int32_t>& found = same[describe(size_of_a + s, b_.steps[s].kind)];
      if (found.empty()) continue;
      const int32_t before = found.back();
      found.pop_back();
      has_counterpart[before] = has_counterpart[size_of_a + s] = true;
      std::vector<int32_t> written_before = in_b(a_.steps[before].outputs);
      std::vector<int32_t> written = b_.steps[s].outputs;
      std::sort(written_before.begin(), written_before.end());
      std::sort(written.begin(), written.end());
      if (written_before != written) diff_.steps.push_back({{before}, {static_cast<int32_t>(s)}});
    }
    group_steps(ops, has_counterpart);
  }

  void group_steps(const std::vector<std::vector<int32_t>>& ops,
                   const std::vector<bool>& has_counterpart) {
    std::vector<size_t> parent(ops.size());  // of a forest: a tree is a change
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](size_t step) {
      while (parent[step] != step) step = parent[step] = parent[parent[step]];
      return step;
    };
    absl::flat_hash_map<int32_t, size_t> step_of;  // by op
    for (size_t step = 0; step < ops.size(); ++step) {
      if (has_counterpart[step]) continue;
      for (const int32_t op : ops[step]) {
        const auto [found, is_new] = step_of.emplace(op, step);
        const size_t x = root(found->second), y = root(step);
        if (!is_new) parent[std::max(x, y)] = std::min(x, y);
      }
    }
    absl::flat_hash_map<size_t, size_t> change_of;  // by root
    for (size_t step = 0; step < ops.size(); ++step) {
      if (has_counterpart[step]) continue;
      const auto [found, is_new] = change_of.emplace(root(step), diff_.steps.size());
      if (is_new) diff_.steps.emplace_back();
      StepChange& change = diff_.steps[found->second];
      if (step < a_.steps.size()) {
        change.a.push_back(static_cast<int32_t>(step));
      } else {
        change.b.push_back(static_cast<int32_t>(step - a_.steps.size()));
      }
    }
  }

  const Graph &a_, &b_;
  const std::vector<int32_t>&to_b_, &to_a_;
  GraphDiff& diff_;
};

std::vector<int32_t> all_of(size_t size) {
  std::vector<int32_t> all(size);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

bool GraphDiff::empty() const {
  return match.a >= 0 && match.b >= 0 && match.windows_a == match.windows_b && new_cuts.empty() &&
         gone_cuts.empty() && other_reasons.empty() && newly_held.empty() &&
         no_longer_held.empty() && new_ops.empty() && gone_ops.empty() && other_ops.empty() &&
         steps.empty() && !other_device;
}

bool Diff::empty() const { return figures.empty() && ran_alike(); }

bool Diff::ran_alike() const {
  return std::all_of(figures.begin(), figures.end(),
                     [](const Figure& figure) { return figure.is_of_disk; }) &&
         graphs.empty() && new_kernels.empty() && gone_kernels.empty();
}

Diff diff(const Trace& a, const Trace& b) {
  Diff diff;
  diff.figures = compare_figures(a, b);
  for (GraphMatch& match : match_graphs(a, b)) {
    GraphDiff graph;
    graph.match = std::move(match);
    if (graph.match.a < 0) {
      graph.new_cuts = all_of(b.graphs[graph.match.b].cuts.size());
    } else if (graph.match.b < 0) {
      graph.gone_cuts = all_of(a.graphs[graph.match.a].cuts.size());
    } else {
      Comparison(a.graphs[graph.match.a], b.graphs[graph.match.b], &graph).compare();
    }
    if (!graph.empty()) diff.graphs.push_back(std::move(graph));
  }
  diff.new_kernels = kernels_missing_in(a, b);
  diff.gone_kernels = kernels_missing_in(b, a);
  return diff;
}

}  // namespace sluice::trace
