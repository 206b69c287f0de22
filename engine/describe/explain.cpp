#include "engine/describe/explain.h"

#include <algorithm>

#include <sluice/shape.h>
#include "absl/strings/str_cat.h"
#include "engine/describe/wording.h"
#include "fusion/ir/scan.h"
#include "trace/labels.h"

namespace sluice::engine {
namespace {

using fusion::CutReason;
using fusion::NodeId;

class Explainer {
 public:
  Explainer(const trace::Graph& described, const fusion::Graph& graph, const fusion::Plan& plan,
            const std::vector<bool>& held, const std::vector<std::source_location>& places)
      : described_(described),
        graph_(graph),
        plan_(plan),
        held_(held),
        places_(places),
        users_(graph.nodes.size()),
        readers_(graph.nodes.size()),
        computed_by_(graph.nodes.size()) {
    for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
      for (const fusion::GraphOperand& operand : graph.nodes[n].operands) {
        if (!operand.is_scalar()) users_[operand.node].push_back(n);
      }
    }
    for (const trace::Step& step : described.steps) {
      for (int32_t input : step.inputs) readers_[input].push_back(&step);
      for (int32_t op : step.ops) computed_by_[op].push_back(&step);
    }
  }

  std::vector<trace::Cut> run(const std::vector<InputProvenance>& inputs) {
    for (const InputProvenance& input : inputs) explain_input(input);
    std::vector<bool> is_cut(graph_.nodes.size(), false);
    for (const fusion::CutEdge& cut : plan_.cuts) {
      if (is_cut[cut.producer]) continue;
      is_cut[cut.producer] = true;
      explain_steps(cut.producer, cut.reason);
    }
    for (const trace::Step& step : described_.steps) {
      for (int32_t output : step.outputs) {
        if (!is_cut[output]) explain_held(output, step);
      }
    }
    std::stable_sort(cuts_.begin(), cuts_.end(), [](const trace::Cut& a, const trace::Cut& b) {
      return a.producer < b.producer;
    });
    return std::move(cuts_);
  }

 private:
  int64_t bytes_of(NodeId n) const {
    return graph_.nodes[n].shape.numel() * static_cast<int64_t>(size_of(graph_.nodes[n].dtype));
  }
  std::string value(NodeId n) const { return n < 0 ? "an op" : trace::value_of(described_, n); }
  std::string typed(NodeId n) const {
    return absl::StrCat(value(n), " ", described_.ops[n].dtype, to_string(graph_.nodes[n].shape));
  }

  bool computes(const trace::Step& step, NodeId n) const {
    return std::find(computed_by_[n].begin(), computed_by_[n].end(), &step) !=
           computed_by_[n].end();
  }

  // The first op of `step` that reads `n`, perhaps through views; -1: none.
  NodeId find_reader(NodeId n, const trace::Step& step) const {
    for (NodeId user : users_[n]) {
      if (computes(step, user)) return user;
    }
    for (NodeId user : users_[n]) {
      if (!fusion::is_view(graph_.nodes[user].op)) continue;
      if (const NodeId reader = find_reader(user, step); reader >= 0) return reader;
    }
    return -1;
  }

  // The view of `n` that somebody holds; -1: none.
  NodeId find_held_view(NodeId n) const {
    for (NodeId user : users_[n]) {
      if (!fusion::is_view(graph_.nodes[user].op)) continue;
      if (graph_.nodes[user].live) return user;
      if (const NodeId view = find_held_view(user); view >= 0) return view;
    }
    return -1;
  }

  void add(NodeId producer, NodeId consumer, const char* reason, std::string text, int64_t bytes) {
    // A gather reads no more elements than it writes.
    if (consumer >= 0 && fusion::class_of(graph_.nodes[consumer].op) == fusion::OpClass::kGather) {
      bytes = std::min(bytes, 2 * bytes_of(consumer));
    }
    cuts_.push_back({producer, consumer, reason, std::move(text), bytes});
  }

  void explain_input(const InputProvenance& from) {
    int64_t bytes = 2 * bytes_of(from.input);
    for (const trace::Step* step : readers_[from.input]) {
      add(from.input, find_reader(from.input, *step), from.reason,
          absl::StrCat(value(from.input), " ", from.why), bytes);
      bytes = bytes_of(from.input);
    }
  }

  // One for each step that reads `producer` and does not compute it.
  void explain_steps(NodeId producer, CutReason reason) {
    int64_t bytes = 2 * bytes_of(producer);
    for (const trace::Step* step : readers_[producer]) {
      NodeId consumer = find_reader(producer, *step);
      if (consumer < 0 && !step->ops.empty()) consumer = step->ops.front();
      if (reason == CutReason::kObserved) {
        add_held(producer, consumer, bytes);
      } else {
        add(producer, consumer, fusion::name_of(reason), sentence(producer, consumer, reason),
            bytes);
      }
      bytes = bytes_of(producer);
    }
  }

  // A value that its own step goes on to use is written only because somebody holds it.
  void explain_held(NodeId output, const trace::Step& step) {
    const NodeId reader = find_reader(output, step);
    if (reader >= 0) add_held(output, reader, bytes_of(output));
  }

  void add_held(NodeId producer, NodeId consumer, int64_t bytes) {
    const NodeId view = graph_.nodes[producer].live ? -1 : find_held_view(producer);
    const NodeId held = view >= 0 ? view : producer;
    const bool is_yours = held_[held];
    const std::string who = is_yours ? "you still hold " : "an op that is still pending reads ";
    if (view < 0) {
      add(producer, consumer, "observed",
          absl::StrCat(who, value(producer), is_yours ? made_at(producer) : ""), bytes);
    } else {
      add(producer, consumer, "aliasing",
          absl::StrCat(who, value(view), is_yours ? made_at(view) : "", ", a view of ",
                       value(producer)),
          bytes);
    }
  }

  // ", train.cpp:12": the line to look at for whoever holds the value.
  std::string made_at(NodeId n) const {
    const std::string place = place_of(places_[n]);
    return place.empty() ? "" : absl::StrCat(", ", place);
  }

  NodeId find_library_reader(NodeId n) const {
    for (const trace::Step* step : readers_[n]) {
      if (step->kind == trace::StepKind::kLibrary) return find_reader(n, *step);
    }
    return -1;
  }

  std::string row_sentence(NodeId p, NodeId c) const {
    const std::string way = absl::StrCat(value(p), " goes to ", value(c), " through memory");
    const fusion::GraphNode& node = graph_.nodes[p];
    if (fusion::is_scan(node.op) || fusion::is_scan(graph_.nodes[c].op)) {
      return absl::StrCat(
          "one thread scans a long row, and what threads can share is computed apart: ", way);
    }
    if (!fusion::is_reduction(node.op)) {
      return absl::StrCat(
          "its rows are too long and too few for one kernel to reduce them and "
          "then use them: ",
          way);
    }
    const int64_t rows = std::max<int64_t>(node.shape.numel(), 1);
    return absl::StrCat("a row of ", graph_.nodes[node.operands[0].node].shape.numel() / rows,
                        " elements is too long, and ", rows, rows == 1 ? " row is" : " rows are",
                        " too few, for one kernel to reduce it and then use it: ", way);
  }

  std::string sentence(NodeId p, NodeId c, CutReason reason) const {
    switch (reason) {
      case CutReason::kReduction:
        return absl::StrCat(value(p), " is complete only when its kernel is: ", value(c),
                            " needs more than its own row of it");
      case CutReason::kRow: return row_sentence(p, c);
      case CutReason::kLibrary:
        if (fusion::class_of(graph_.nodes[p].op) == fusion::OpClass::kLibrary) {
          return absl::StrCat(value(p), " is a library call, and has no epilogue that computes ",
                              value(c));
        }
        return absl::StrCat(value(find_library_reader(p)), " is a library call, which reads ",
                            value(p), " from memory");
      case CutReason::kGather:
        return absl::StrCat(value(c), " reads ", value(p), " at computed indices");
      case CutReason::kShape:
        return absl::StrCat("the readers of ", typed(p),
                            " run over different iteration spaces; that of ", typed(c),
                            " is another");
      case CutReason::kOrder:
        return absl::StrCat("fusing ", value(p), " into ", value(c),
                            " would make two kernels wait for each other");
      case CutReason::kView:
        return absl::StrCat(value(c), " reads ", value(p),
                            " through a view that no index map can express");
      case CutReason::kBudget:
        return absl::StrCat("a kernel of both ", value(p), " and ", value(c),
                            " would grow past its limits");
      case CutReason::kRuns:
        return absl::StrCat(value(p), " repeats an operand within rows that the kernel of ",
                            value(c), " would have to walk in short runs");
      case CutReason::kCost:
        return absl::StrCat("computing ", value(p), " again wherever ", value(c),
                            " reads it would cost more than reading it");
      case CutReason::kObserved:
      case CutReason::kFusionOff: break;
    }
    return "fusion is off (Config::fuse)";
  }

  const trace::Graph& described_;
  const fusion::Graph& graph_;
  const fusion::Plan& plan_;
  const std::vector<bool>& held_;
  const std::vector<std::source_location>& places_;
  std::vector<std::vector<NodeId>> users_;                // by node
  std::vector<std::vector<const trace::Step*>> readers_;  // by node: steps that find it in memory
  std::vector<std::vector<const trace::Step*>> computed_by_;  // by node; mostly one step
  std::vector<trace::Cut> cuts_;
};

}  // namespace

std::vector<trace::Cut> explain_cuts(const trace::Graph& described, const fusion::Graph& graph,
                                     const fusion::Plan& plan, const std::vector<bool>& held,
                                     const std::vector<std::source_location>& places,
                                     const std::vector<InputProvenance>& inputs) {
  return Explainer(described, graph, plan, held, places).run(inputs);
}

}  // namespace sluice::engine
