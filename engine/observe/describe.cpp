#include "engine/observe/describe.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/observe/names.h"

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

void add_once(std::vector<int32_t>* list, int32_t value) {
  if (std::find(list->begin(), list->end(), value) == list->end()) list->push_back(value);
}

int64_t flops_of(const Graph& graph, NodeId n) {
  const GraphNode& node = graph.nodes[n];
  if (fusion::is_reduction(node.op)) return graph.nodes[node.operands[0].node].shape.numel();
  return fusion::is_pointwise(node.op) ? node.shape.numel() : 0;
}

trace::Step describe_step(const Graph& graph, const fusion::Plan& plan, const fusion::Step& step) {
  trace::Step result;
  auto node_of = [&](const MemoryRef& memory) {
    return memory.kind == MemoryRef::Kind::kInput ? memory.index : plan.results[memory.index].node;
  };
  for (size_t k = 0; k < step.num_calls(); ++k) {
    for (NodeId n : step.call(k).nodes) add_once(&result.ops, n);
  }
  if (step.library) {
    result.kind = trace::StepKind::kLibrary;
    result.flops = step.library->attributes->flops();
  }
  fusion::for_each_output(
      step, [&](const MemoryRef& memory) { add_once(&result.outputs, node_of(memory)); });
  fusion::for_each_memory(step, [&](const MemoryRef& memory) {
    const int32_t n = node_of(memory);
    if (std::find(result.outputs.begin(), result.outputs.end(), n) == result.outputs.end()) {
      add_once(&result.inputs, n);
    }
  });
  for (NodeId n : result.ops) result.flops += flops_of(graph, n);
  result.name = join_names(graph, result.ops, 6);
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

}  // namespace

trace::Graph describe(const Window& window, const Graph& graph, const ReadyPlan& plan) {
  trace::Graph described;
  for (const GraphNode& node : graph.nodes) described.ops.push_back(describe_node(node));
  const size_t num_inputs = window.inputs().size();
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node* node = n < num_inputs ? window.inputs()[n] : window.node(n - num_inputs);
    described.ops[n].name = NodeNames::get().text(node);
  }
  for (const fusion::Step& step : plan.plan().steps) {
    described.steps.push_back(describe_step(graph, plan.plan(), step));
  }
  mark_removed(graph, &described);
  described.temporaries_elided = plan.plan().temporaries_elided;
  described.bytes_elided = plan.plan().bytes_elided;
  return described;
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
