#include "sluice/engine/window.h"

#include <algorithm>

namespace sluice::engine {
namespace {

enum OperandTag : uint64_t { kScalarTag, kInputTag, kNodeTag };

uint64_t pack(const Node& node, uint64_t flag, size_t operands) {
  return static_cast<uint64_t>(node.op) | static_cast<uint64_t>(node.dtype) << 8 |
         static_cast<uint64_t>(node.operand_dtype) << 16 | flag << 24 |
         static_cast<uint64_t>(node.layout.shape.rank()) << 28 |
         static_cast<uint64_t>(operands) << 32;
}

uint64_t* put(const Shape& shape, uint64_t* at) {
  for (int i = 0; i < shape.rank(); ++i) *at++ = static_cast<uint64_t>(shape[i]);
  return at;
}

// The words of a node and of inputs that it is the first to read, at most.
size_t most_words(const Node& node) {
  constexpr size_t kMostOfOperand = 2 + 2 * kMaxRank;
  return 2 + kMaxRank + node.operands.size() * kMostOfOperand + node.attrs.size();
}

}  // namespace

void Window::clear() {
  nodes.clear();
  live.clear();
  inputs.clear();
  input_numbers.clear();
  input_pins.clear();
  scalars.clear();
  num_words_ = 0;
}

// The number of an input in the window.
static uint32_t number_of(Node* input, bool pinned, Window* window) {
  const auto [it, is_new] =
      window->input_numbers.try_emplace(input, static_cast<uint32_t>(window->inputs.size()));
  if (is_new) {
    window->inputs.push_back(input);
    window->input_pins.push_back(pinned);
  } else {
    window->input_pins[it->second] += pinned;
  }
  return it->second;
}

void describe(Window* window, PlanMode mode) {
  uint64_t* at = window->begin_words(1);
  *at++ = static_cast<uint64_t>(mode.fuse + 2 * mode.fast_math);
  window->end_words(at);
  for (size_t i = 0; i < window->nodes.size(); ++i) {
    Node& node = *window->nodes[i];
    node.ordinal = static_cast<uint32_t>(i);
    at = window->begin_words(most_words(node));
    *at++ = pack(node, window->live[i], node.operands.size());
    at = put(node.layout.shape, at);
    for (const NodeOperand& operand : node.operands) {
      if (operand.node == nullptr) {
        *at++ = kScalarTag;
        window->scalars.push_back(operand.scalar);
        continue;
      }
      const Node& value = *operand.node;
      if (!value.submitted()) {
        *at++ = kNodeTag | uint64_t{value.ordinal} << 2;
        continue;
      }
      const size_t known = window->inputs.size();
      const uint32_t number = number_of(operand.node, operand.pinned, window);
      *at++ = kInputTag | uint64_t{number} << 2;
      if (number < known) continue;
      *at++ = pack(value, 0, 0);
      at = put(value.layout.shape, at);
      for (int k = 0; k < value.layout.shape.rank(); ++k) {
        *at++ = static_cast<uint64_t>(value.layout.strides[k]);
      }
    }
    if (!node.attrs.empty()) {
      *at++ = node.attrs.size();
      at = std::copy(node.attrs.begin(), node.attrs.end(), at);
    }
    window->end_words(at);
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
