#include "tools/trace/graph_match.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trace/labels.h"

namespace sluice::trace {
namespace {

// Beyond that many pairs of ops, those between equal beginnings and ends are taken as different.
constexpr size_t kMaxPairs = size_t{1} << 26;

std::string name_and_dtype(const Op& op) { return absl::StrCat(op.op, " ", op.dtype); }
std::string name_and_type(const Op& op) { return absl::StrCat(op.op, " ", type_of(op)); }

// Equal for graphs that record the same.
std::string describe_ops(const Graph& graph) {
  std::string text = graph.device;
  for (const Op& op : graph.ops) {
    absl::StrAppend(&text, "\n", name_and_type(op), " ", absl::StrJoin(op.operands, " "));
  }
  return text;
}

// Equal for graphs that record the same, of which the same is held, and that were planned alike.
std::string describe_all(const Graph& graph) {
  std::string text = describe_ops(graph);
  for (const Op& op : graph.ops) text += op.live ? "L" : op.removed ? "R" : ".";
  for (const Step& step : graph.steps) {
    absl::StrAppend(&text, "\n", static_cast<int>(step.kind), ";", absl::StrJoin(step.ops, " "),
                    ";", absl::StrJoin(step.inputs, " "), ";", absl::StrJoin(step.outputs, " "),
                    ";", step.bytes_read, ";", step.bytes_written);
  }
  for (const Cut& cut : graph.cuts) {
    absl::StrAppend(&text, "\n", cut.producer, ";", cut.consumer, ";", cut.reason, ";", cut.bytes);
  }
  return text;
}

// Graphs of a trace, equal ones as one.
struct Candidate {
  int32_t graph = -1;
  int64_t windows = 0;
  std::string all;
  bool is_matched = false;
};

std::vector<Candidate> candidates_of(const Trace& trace) {
  std::vector<int64_t> windows(trace.graphs.size());
  for (const Window& window : trace.windows) ++windows[window.graph];
  std::vector<Candidate> candidates;
  absl::flat_hash_map<std::string, size_t> index;
  for (size_t g = 0; g < trace.graphs.size(); ++g) {
    if (windows[g] == 0) continue;
    std::string all = describe_all(trace.graphs[g]);
    const auto [found, is_new] = index.emplace(all, candidates.size());
    if (is_new) candidates.push_back({static_cast<int32_t>(g), 0, std::move(all), false});
    candidates[found->second].windows += windows[g];
  }
  return candidates;
}

// The share of labels that two sorted lists have in common.
double overlap(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  size_t common = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j])
      ++common, ++i, ++j;
    else if (a[i] < b[j])
      ++i;
    else
      ++j;
  }
  const size_t all = a.size() + b.size() - common;
  return all > 0 ? static_cast<double>(common) / static_cast<double>(all) : 1;
}

template <typename F>
std::vector<std::string> labels_of(const Graph& graph, F label) {
  std::vector<std::string> labels;
  for (const Op& op : graph.ops) labels.push_back(label(op));
  return labels;
}

// What of a candidate that is not matched decides how similar it is.
struct Profile {
  size_t candidate;
  const Graph* graph;
  std::vector<std::string> dtypes, types;  // of its ops, sorted
};

std::vector<Profile> profiles_of(const Trace& trace, const std::vector<Candidate>& candidates) {
  std::vector<Profile> profiles;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].is_matched) continue;
    const Graph& graph = trace.graphs[candidates[i].graph];
    profiles.push_back(
        {i, &graph, labels_of(graph, name_and_dtype), labels_of(graph, name_and_type)});
    std::sort(profiles.back().dtypes.begin(), profiles.back().dtypes.end());
    std::sort(profiles.back().types.begin(), profiles.back().types.end());
  }
  return profiles;
}

// A longest common subsequence of two lists: for each element of `a` its counterpart, or -1.
std::vector<int32_t> align(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<int32_t> to_b(a.size(), -1);
  size_t begin = 0, a_end = a.size(), b_end = b.size();
  for (; begin < a_end && begin < b_end && a[begin] == b[begin]; ++begin) {
    to_b[begin] = static_cast<int32_t>(begin);
  }
  while (a_end > begin && b_end > begin && a[a_end - 1] == b[b_end - 1]) {
    to_b[--a_end] = static_cast<int32_t>(--b_end);
  }
  const size_t rows = a_end - begin, columns = b_end - begin, stride = columns + 1;
  if (rows == 0 || columns == 0 || rows > kMaxPairs / columns) return to_b;
  // The length of the longest one of what follows (i, j).
  std::vector<uint32_t> length((rows + 1) * stride);
  for (size_t i = rows; i-- > 0;) {
    for (size_t j = columns; j-- > 0;) {
      length[i * stride + j] = a[begin + i] == b[begin + j] ? length[(i + 1) * stride + j + 1] + 1
                                                            : std::max(length[(i + 1) * stride + j],
                                                                       length[i * stride + j + 1]);
    }
  }
  for (size_t i = 0, j = 0; i < rows && j < columns;) {
    if (a[begin + i] == b[begin + j]) {
      to_b[begin + i++] = static_cast<int32_t>(begin + j++);
    } else if (length[(i + 1) * stride + j] >= length[i * stride + j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return to_b;
}

// By types, if that gives half of the ops a counterpart; else shapes do not matter.
std::vector<int32_t> align(const Graph& a, const Graph& b) {
  std::vector<int32_t> to_b = align(labels_of(a, name_and_type), labels_of(b, name_and_type));
  const auto unmatched = std::count(to_b.begin(), to_b.end(), -1);
  if (2 * unmatched <= static_cast<int64_t>(to_b.size())) return to_b;
  return align(labels_of(a, name_and_dtype), labels_of(b, name_and_dtype));
}

class Matcher {
 public:
  Matcher(const Trace& a, const Trace& b)
      : a_(a), b_(b), in_a_(candidates_of(a)), in_b_(candidates_of(b)) {}

  std::vector<GraphMatch> match() {
    match_by([](const Trace&, const Candidate& candidate) { return candidate.all; });
    match_by([](const Trace& trace, const Candidate& candidate) {
      return describe_ops(trace.graphs[candidate.graph]);
    });
    match_similar();
    for (const Candidate& candidate : in_b_) {
      if (!candidate.is_matched) {
        matches_.push_back({-1, candidate.graph, 0, candidate.windows, {}, {}});
      }
    }
    std::stable_sort(matches_.begin(), matches_.end(),
                     [](const GraphMatch& x, const GraphMatch& y) { return x.b < y.b; });
    for (const Candidate& candidate : in_a_) {
      if (!candidate.is_matched) {
        matches_.push_back({candidate.graph, -1, candidate.windows, 0, {}, {}});
      }
    }
    return std::move(matches_);
  }

 private:
  // Pairs those of equal description(), in order.
  template <typename F>
  void match_by(F description) {
    absl::flat_hash_map<std::string, std::vector<size_t>> left;  // of a's, the last first
    for (size_t i = in_a_.size(); i-- > 0;) {
      if (!in_a_[i].is_matched) left[description(a_, in_a_[i])].push_back(i);
    }
    for (Candidate& candidate : in_b_) {
      if (candidate.is_matched) continue;
      const auto found = left.find(description(b_, candidate));
      if (found == left.end() || found->second.empty()) continue;
      std::vector<int32_t> same(b_.graphs[candidate.graph].ops.size());
      std::iota(same.begin(), same.end(), 0);
      add(in_a_[found->second.back()], candidate, std::move(same));
      found->second.pop_back();
    }
  }

  struct Similarity {
    double score;
    size_t a, b;
  };

  void match_similar() {
    const std::vector<Profile> of_a = profiles_of(a_, in_a_), of_b = profiles_of(b_, in_b_);
    std::vector<Similarity> pairs;
    for (const Profile& y : of_b) {
      for (const Profile& x : of_a) {
        const double likeness = overlap(x.dtypes, y.dtypes);
        if (likeness < 0.5) continue;
        const bool same_device = x.graph->device == y.graph->device;
        pairs.push_back({likeness + overlap(x.types, y.types) + (same_device ? 1 : 0), x.candidate,
                         y.candidate});
      }
    }
    std::stable_sort(pairs.begin(), pairs.end(), [](const Similarity& x, const Similarity& y) {
      return std::tuple(-x.score, x.b, x.a) < std::tuple(-y.score, y.b, y.a);
    });
    for (const Similarity& pair : pairs) {
      Candidate &x = in_a_[pair.a], &y = in_b_[pair.b];
      if (!x.is_matched && !y.is_matched) {
        add(x, y, align(a_.graphs[x.graph], b_.graphs[y.graph]));
      }
    }
  }

  void add(Candidate& in_a, Candidate& in_b, std::vector<int32_t> to_b) {
    std::vector<int32_t> to_a(b_.graphs[in_b.graph].ops.size(), -1);
    for (size_t i = 0; i < to_b.size(); ++i) {
      if (to_b[i] >= 0) to_a[to_b[i]] = static_cast<int32_t>(i);
    }
    in_a.is_matched = in_b.is_matched = true;
    matches_.push_back(
        {in_a.graph, in_b.graph, in_a.windows, in_b.windows, std::move(to_b), std::move(to_a)});
  }

  const Trace &a_, &b_;
  std::vector<Candidate> in_a_, in_b_;
  std::vector<GraphMatch> matches_;
};

}  // namespace

std::vector<GraphMatch> match_graphs(const Trace& a, const Trace& b) {
  return Matcher(a, b).match();
}

}  // namespace sluice::trace
