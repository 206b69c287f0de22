#include "sluice/engine/window.h"

namespace sluice::engine {
namespace {

enum OperandTag : uint64_t { kScalarTag, kInputTag, kNodeTag };

uint64_t pack(const Node& node, uint64_t flag, size_t operands) {
  return static_cast<uint64_t>(node.op) | static_cast<uint64_t>(node.dtype) << 8 |
         static_cast<uint64_t>(node.operand_dtype) << 16 | flag << 24 |
         static_cast<uint64_t>(node.layout.shape.rank()) << 28 |
         static_cast<uint64_t>(operands) << 32;
}

void append_shape(std::vector<uint64_t>* words, const Shape& shape) {
  words->insert(words->end(), shape.begin(), shape.end());
}

}  // namespace

void Window::clear() {
  nodes.clear();
  live.clear();
  inputs.clear();
  input_numbers.clear();
  input_pins.clear();
  scalars.clear();
  signature.clear();
}

void describe(Window* window, PlanMode mode) {
  std::vector<uint64_t>& words = window->signature;
  words.push_back(mode.fuse + 2 * mode.fast_math);
  for (size_t i = 0; i < window->nodes.size(); ++i) {
    Node& node = *window->nodes[i];
    node.ordinal = static_cast<uint32_t>(i);
    words.push_back(pack(node, window->live[i], node.operands.size()));
    append_shape(&words, node.layout.shape);
    for (const NodeOperand& operand : node.operands) {
      if (operand.node == nullptr) {
        words.push_back(kScalarTag);
        window->scalars.push_back(operand.scalar);
        continue;
      }
      const Node& value = *operand.node;
      if (!value.submitted()) {
        words.push_back(kNodeTag | uint64_t{value.ordinal} << 2);
        continue;
      }
      const auto [it, is_new] = window->input_numbers.try_emplace(
          operand.node, static_cast<uint32_t>(window->inputs.size()));
      words.push_back(kInputTag | uint64_t{it->second} << 2);
      if (!is_new) {
        window->input_pins[it->second] += operand.pinned;
        continue;
      }
      window->inputs.push_back(operand.node);
      window->input_pins.push_back(operand.pinned);
      words.push_back(pack(value, 0, 0));
      append_shape(&words, value.layout.shape);
      words.insert(words.end(), value.layout.strides.begin(),
                   value.layout.strides.begin() + value.layout.shape.rank());
    }
    if (!node.attrs.empty()) {
      words.push_back(node.attrs.size());
      words.insert(words.end(), node.attrs.begin(), node.attrs.end());
    }
  }
}

fusion::Graph to_graph(const Window& window) {
  fusion::Graph graph;
  graph.nodes.reserve(window.inputs.size() + window.nodes.size());
  absl::flat_hash_map<const runtime::Buffer*, int32_t> blocks;
  for (const Node* input : window.inputs) {
    fusion::GraphNode& node = graph.nodes.emplace_back();
    const runtime::Buffer* buffer = input->buffer.get();
    node.block.number =
        blocks.try_emplace(buffer, static_cast<int32_t>(blocks.size())).first->second;
    node.block.offset = input->layout.offset;
    node.block.elements = static_cast<int64_t>(buffer->bytes() / size_of(input->dtype));
    node.dtype = node.operand_dtype = input->dtype;
    node.shape = input->layout.shape;
    node.strides = input->layout.strides;
  }
  const auto offset = static_cast<fusion::NodeId>(window.inputs.size());
  for (size_t i = 0; i < window.nodes.size(); ++i) {
    const Node& source = *window.nodes[i];
    fusion::GraphNode& node = graph.nodes.emplace_back();
    node.op = source.op;
    node.dtype = source.dtype;
    node.operand_dtype = source.operand_dtype;
    node.live = window.live[i];
    node.shape = source.layout.shape;
    node.attrs.assign(source.attrs.begin(), source.attrs.end());
    for (const NodeOperand& operand : source.operands) {
      fusion::GraphOperand& target = node.operands.emplace_back();
      if (operand.node == nullptr) {
        target.scalar = graph.num_scalars++;
      } else {
        target.node = operand.node->submitted()
                          ? static_cast<fusion::NodeId>(window.input_numbers.at(operand.node))
                          : offset + static_cast<fusion::NodeId>(operand.node->ordinal);
      }
    }
  }
  return graph;
}

}  // namespace sluice::engine
