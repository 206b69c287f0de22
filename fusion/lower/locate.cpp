#include "fusion/lower/locate.h"

#include "fusion/graph/index_map.h"

namespace sluice::fusion {

Located locate_value(const Graph& graph, const MemoryMap& memory, NodeId node) {
  Located located;
  located.layout = contiguous_layout(graph.nodes[node].shape);
  if (memory.input[node] >= 0) {
    located.memory = {MemoryRef::Kind::kInput, memory.input[node]};
    located.layout.strides = graph.nodes[node].strides;
  } else {
    located.memory = {MemoryRef::Kind::kResult, memory.result[node]};
    const auto kept = memory.strides.find(node);
    if (kept != memory.strides.end()) located.layout.strides = kept->second;
  }
  return located;
}

std::optional<Located> locate(const Graph& graph, const Constraints& constraints,
                              const MemoryMap& memory, NodeId node, NodeId* blocking) {
  std::vector<NodeId> views;
  while (is_view(graph.nodes[node].op) && !constraints.copied_view[node]) {
    views.push_back(node);
    node = graph.nodes[node].operands[0].node;
  }
  Located located = locate_value(graph, memory, node);
  for (auto view = views.rbegin(); view != views.rend(); ++view) {
    const auto layout = layout_through_view(view_of(graph.nodes[*view]), located.layout);
    if (!layout) {
      *blocking = *view;
      return std::nullopt;
    }
    located.layout = *layout;
  }
  return located;
}

}  // namespace sluice::fusion
