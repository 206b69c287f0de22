#include "fusion/lower/lower_library.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "fusion/library/library.h"

namespace sluice::fusion {
namespace {

struct OpKind {
  Op op;
  LibraryKind kind;
};
constexpr OpKind kOpKinds[] = {
#define SLUICE_LIBRARY_OP(id, name, arity, kind, gradient) {Op::k##id, LibraryKind::k##kind},
#include "fusion/ir/library.def"
};

LibraryKind kind_of(Op op) {
  return std::find_if(std::begin(kOpKinds), std::end(kOpKinds),
                      [&](const OpKind& known) { return known.op == op; })
      ->kind;
}

using MakeAttributes = std::shared_ptr<const LibraryAttributes> (*)(const GraphNode&,
                                                                    absl::Span<const Layout>);
constexpr MakeAttributes kMakeAttributes[] = {
#define SLUICE_LIBRARY_KIND(id, name) &make_##name##_attributes,
#include "fusion/ir/library.def"
};

}  // namespace

bool lower_library(const Graph& graph, const Group& group, const MemoryMap& memory,
                   Constraints* constraints, Step* step) {
  const NodeId n = group.members[0];
  const GraphNode& node = graph.nodes[n];
  LibraryCall call;
  OutputDependence output;
  std::vector<Layout> layouts;
  for (const GraphOperand& operand : node.operands) {
    NodeId blocking = kNoNode;
    std::optional<Located> located = locate(graph, *constraints, memory, operand.node, &blocking);
    if (!located) {
      constraints->copied_view[blocking] = true;
      return false;
    }
    step->bytes_read += located->layout.shape.numel() *
                        static_cast<int64_t>(size_of(graph.nodes[operand.node].dtype));
    output.buffers.push_back(static_cast<int32_t>(call.buffers.size()));
    call.buffers.push_back(located->memory);
    layouts.push_back(std::move(located->layout));
  }
  output.buffer = static_cast<int32_t>(call.buffers.size());
  call.buffers.push_back({MemoryRef::Kind::kResult, memory.result[n]});
  call.outputs.push_back(std::move(output));
  call.nodes = {n};
  call.kind = kind_of(node.op);
  call.attributes = kMakeAttributes[static_cast<int>(call.kind)](node, layouts);
  step->bytes_written = node.shape.numel() * static_cast<int64_t>(size_of(node.dtype));
  step->cost = call.attributes->cost();
  step->library = std::move(call);
  return true;
}

}  // namespace sluice::fusion
