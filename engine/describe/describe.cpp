#include "engine/describe/describe.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/describe/explain.h"
#include "engine/observe/names.h"
#include "fusion/ir/scan.h"

namespace sluice::engine {
namespace {

using fusion::Graph;
using fusion::GraphNode;
using fusion::MemoryRef;
using fusion::NodeId;

trace::Op describe_node(const GraphNode& node) {
  trace::Op op;
  op.op = fusion::name_of(node.op);
  op.dtype = name_of(node.dtype);
  op.shape.assign(node.shape.begin(), node.shape.end());
  for (const fusion::GraphOperand& operand : node.operands) {
    if (!operand.is_scalar()) op.operands.push_back(operand.node);
  }
  op.live = node.live;
  return op;
}

// Numbers in the order in which they were first added.
class NodeList {
 public:
  void add(NodeId n) {
    if (known_.insert(n).second) list_.push_back(n);
  }
  bool contains(NodeId n) const { return known_.contains(n); }
  std::vector<NodeId> take() { return std::move(list_); }

 private:
  std::vector<NodeId> list_;
  absl::flat_hash_set<NodeId> known_;
};

// The ops that a step computes. Calls of one launch may compute the same op.
std::vector<NodeId> ops_of(const fusion::Step& step) {
  NodeList ops;
  for (size_t k = 0; k < step.num_calls(); ++k) {
    for (NodeId n : step.call(k).nodes) ops.add(n);
  }
  return ops.take();
}

int64_t flops_of(const Graph& graph, const fusion::Step& step, const std::vector<NodeId>& ops) {
  int64_t flops = step.library ? step.library->attributes->flops() : 0;
  for (const NodeId n : ops) {
    const GraphNode& node = graph.nodes[n];
    if (fusion::is_reduction(node.op)) {
      flops += graph.nodes[node.operands[0].node].shape.numel();
    } else if (fusion::is_pointwise(node.op) || (!step.library && fusion::is_scan(node.op))) {
      flops += node.shape.numel();
    }
  }
  return flops;
}

std::string name_of_step(const Graph& graph, const std::vector<NodeId>& ops) {
  return join_names(graph, ops, 6);
}

trace::Step describe_step(const Graph& graph, const fusion::Plan& plan, const fusion::Step& step) {
  trace::Step result;
  if (step.library) result.kind = trace::StepKind::kLibrary;
  result.ops = ops_of(step);
  result.name = name_of_step(graph, result.ops);
  result.flops = flops_of(graph, step, result.ops);
  const auto node_of = [&](const MemoryRef& memory) {
    return memory.kind == MemoryRef::Kind::kInput ? memory.index : plan.results[memory.index].node;
  };
  NodeList inputs, outputs;
  fusion::for_each_output(step, [&](const MemoryRef& memory) { outputs.add(node_of(memory)); });
  fusion::for_each_memory(step, [&](const MemoryRef& memory) {
    if (const NodeId n = node_of(memory); !outputs.contains(n)) inputs.add(n);
  });
  result.inputs = inputs.take();
  result.outputs = outputs.take();
  result.bytes_read = step.bytes_read;
  result.bytes_written = step.bytes_written;
  return result;
}

// What no step computes, nobody holds, and no step sees through on the way to something else.
void mark_removed(const Graph& graph, trace::Graph* described) {
  std::vector<bool> is_used(graph.nodes.size(), false);
  for (const trace::Step& step : described->steps) {
    for (int32_t n : step.ops) is_used[n] = true;
  }
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const GraphNode& node = graph.nodes[n];
    if (node.op == fusion::Op::kInput) continue;
    is_used[n] = is_used[n] || node.live;
    described->ops[n].removed = !is_used[n];
    if (!is_used[n]) continue;
    for (const fusion::GraphOperand& operand : node.operands) {
      if (!operand.is_scalar() && fusion::is_view(graph.nodes[operand.node].op)) {
        is_used[operand.node] = true;
      }
    }
  }
}

// The inputs that earlier windows or other devices have made.
std::vector<InputProvenance> describe_inputs(const std::vector<Provenance>& provenance) {
  std::vector<InputProvenance> inputs;
  for (size_t i = 0; i < provenance.size(); ++i) {
    const auto input = static_cast<int32_t>(i);
    const std::string sentence(Names::of_sentences().text(provenance[i].sentence));
    switch (provenance[i].kind) {
      case Provenance::Kind::kUnknown: break;
      case Provenance::Kind::kOtherDevice: inputs.push_back({input, "device", sentence}); break;
      case Provenance::Kind::kEarlierWindow:
        inputs.push_back(
            {input, "window",
             absl::StrCat("was computed by an earlier window, which ended because ", sentence)});
    }
  }
  return inputs;
}

}  // namespace

GraphNotes take_notes(const Window& window, std::vector<int32_t> sites,
                      std::vector<Provenance> provenance) {
  GraphNotes notes;
  notes.device = window.node(0)->device;
  notes.graph = window.to_graph();
  notes.provenance = std::move(provenance);
  notes.sites = std::move(sites);
  const NodeNames& names = NodeNames::get();
  for (const Node* input : window.inputs()) notes.names.push_back(names.number(input));
  notes.is_held.assign(window.inputs().size(), false);
  notes.places.resize(window.inputs().size());
  for (size_t i = 0; i < window.size(); ++i) {
    notes.names.push_back(names.number(window.node(i)));
    notes.is_held.push_back(window.node(i)->has_handles());
    notes.places.push_back(window.origin(i).where);
    notes.scopes.push_back(int32_t{window.origin(i).scope} - 1);
  }
  return notes;
}

trace::Graph describe(const GraphNotes& notes, const fusion::Plan& plan) {
  trace::Graph described;
  described.device = to_string(notes.device);
  const size_t num_inputs = notes.provenance.size();
  for (size_t n = 0; n < notes.graph.nodes.size(); ++n) {
    trace::Op& op = described.ops.emplace_back(describe_node(notes.graph.nodes[n]));
    op.name = NodeNames::get().text(notes.names[n]);
    if (n < num_inputs) continue;
    op.site = notes.sites[n - num_inputs];
    op.scope = notes.scopes[n - num_inputs];
  }
  for (const fusion::Step& step : plan.steps) {
    described.steps.push_back(describe_step(notes.graph, plan, step));
  }
  mark_removed(notes.graph, &described);
  described.temporaries_elided = plan.temporaries_elided;
  described.bytes_elided = plan.bytes_elided;
  described.cuts = explain_cuts(described, notes.graph, plan, notes.is_held, notes.places,
                                describe_inputs(notes.provenance));
  return described;
}

std::vector<StepTotals> totals_of_steps(const Graph& graph, const fusion::Plan& plan) {
  std::vector<StepTotals> totals;
  for (const fusion::Step& step : plan.steps) {
    const std::vector<NodeId> ops = ops_of(step);
    totals.push_back({name_of_step(graph, ops), step.bytes_read + step.bytes_written,
                      flops_of(graph, step, ops)});
  }
  return totals;
}

std::string join_names(const Graph& graph, absl::Span<const NodeId> ops, size_t most) {
  std::string names;
  for (size_t i = 0; i < ops.size() && i < most; ++i) {
    absl::StrAppend(&names, i == 0 ? "" : "+", fusion::name_of(graph.nodes[ops[i]].op));
  }
  if (ops.size() > most) absl::StrAppend(&names, "+", ops.size() - most, " more");
  return names;
}

}  // namespace sluice::engine
