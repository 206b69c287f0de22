#include "engine/record/window.h"

#include <algorithm>
#include <utility>

#include "engine/record/node_slab.h"
#include "engine/record/window_add.h"

namespace sluice::engine {
void Window::swap(Window& other) {
  std::swap(ops_, other.ops_);
  std::swap(words_, other.words_);
  std::swap(num_ops_, other.num_ops_);
  std::swap(num_words_, other.num_words_);
  std::swap(num_live_words_, other.num_live_words_);
  std::swap(inputs_, other.inputs_);
  std::swap(num_described_, other.num_described_);
  std::swap(pins_inputs_, other.pins_inputs_);
  std::swap(input_numbers_, other.input_numbers_);
  std::swap(inputs_before_, other.inputs_before_);
  std::swap(scalars_, other.scalars_);
}

void Window::grow(size_t words) {
  if (num_ops_ == ops_.size()) ops_.resize(2 * num_ops_ + 256);
  if (words_.size() - num_words_ < words) words_.resize(2 * words_.size() + words);
}

uint32_t Window::kind(size_t i) const {
  const Shape& shape = node(i)->layout.shape;
  uint64_t hash = words_[ops_[i].begin] & ~OpHeader::kHasExtents;
  for (int k = 0; k < shape.rank(); ++k) {
    hash = (hash ^ static_cast<uint64_t>(shape[k])) * 0x9e3779b97f4a7c15u;
  }
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

uint32_t Window::look_up(Node* input) {
  constexpr uint32_t kFew = 8;  // are found sooner one after another
  const auto next = static_cast<uint32_t>(inputs_.size());
  if (next < kFew) {
    const auto known = std::find(inputs_.begin(), inputs_.end(), input);
    if (known != inputs_.end()) return static_cast<uint32_t>(known - inputs_.begin());
  } else {
    if (input_numbers_.empty()) {
      input_numbers_.reserve(std::max(2 * inputs_.size(), inputs_before_));
      for (uint32_t k = 0; k < next; ++k) input_numbers_.emplace(inputs_[k], k);
    }
    const auto [known, is_new] = input_numbers_.try_emplace(input, next);
    if (!is_new) return known->second;
  }
  inputs_.push_back(input);
  input->add(Node::kPin);
  input->input_number.store(next, std::memory_order_relaxed);
  return next;
}

// Decodes the ops one after another.
class Window::Reader {
 public:
  // An op as it was written down. Valid until the next one is read.
  struct Record {
    OpHeader header;
    absl::Span<const OperandCode> operands;
    absl::Span<const int64_t> attrs;
  };

  // From op `begin` on, of which `scalar` is the number of the first scalar.
  explicit Reader(const Window& window, size_t begin = 0, size_t scalar = 0)
      : window_(window), position_(begin), scalar_(scalar) {}

  Record next() {
    const uint64_t* words = &window_.words_[window_.ops_[position_].begin];
    const OpHeader header = OpHeader::unpack(*words);
    operands_.clear();
    window_.for_each_code(position_, [&](OperandCode code) { operands_.push_back(code); });
    ++position_;
    return {header, operands_, read_attrs(header, words)};
  }

  // Likewise, as it was recorded. Either these two are called, for all ops, or next().
  OpCall next_call() {
    const size_t i = position_++;
    const uint64_t* words = &window_.words_[window_.ops_[i].begin];
    const OpHeader header = OpHeader::unpack(*words);
    nodes_.resize(header.num_operands);
    NodeOperand* operand = nodes_.data();
    window_.for_each_code(i, [&](OperandCode code) {
      *operand = {};
      switch (code.kind) {
        case OperandKind::kScalar: operand->scalar = window_.scalars_[scalar_++]; break;
        case OperandKind::kInput: operand->node = window_.inputs_[code.number]; break;
        case OperandKind::kOp: operand->node = window_.node(i - code.number); break;
      }
      ++operand;
    });
    const Node* const node = window_.node(i);
    return {.caller = window_.ops_[i].caller,
            .op = header.op,
            .dtype = header.dtype,
            .operand_dtype = header.operand_dtype,
            .device = node->device,
            .shape = node->layout.shape,
            .operands = nodes_,
            .attrs = read_attrs(header, words)};
  }
  void skip() {
    window_.for_each_code(position_++,
                          [&](OperandCode code) { scalar_ += code.kind == OperandKind::kScalar; });
  }

 private:
  absl::Span<const int64_t> read_attrs(OpHeader header, const uint64_t* words) {
    if (!header.has_attrs) return {};
    words += 1 + (header.num_operands + 1) / 2 + (header.has_extents ? header.rank : 0);
    attrs_.assign(words + 1, words + 1 + *words);
    return attrs_;
  }

  const Window& window_;
  size_t position_;
  size_t scalar_;
  absl::InlinedVector<NodeOperand, 4> nodes_;
  absl::InlinedVector<OperandCode, 4> operands_;
  absl::InlinedVector<int64_t, 16> attrs_;
};

void Window::with_call(size_t i, absl::FunctionRef<void(const OpCall&)> f) const {
  size_t scalar = scalars_.size();
  for (size_t k = i; k < num_ops_; ++k) {
    for_each_code(k, [&](OperandCode code) { scalar -= code.kind == OperandKind::kScalar; });
  }
  Reader reader(*this, i, scalar);
  f(reader.next_call());
}

void Window::copy_to(Window* target, absl::Span<const uint8_t> marks, uint8_t mark) const {
  Reader reader(*this);
  for (size_t i = 0; i < num_ops_; ++i) {
    if ((marks[i] & mark) == 0) {
      reader.skip();
      continue;
    }
    const OpCall call = reader.next_call();
    target->add(ops_[i].node, call, call.operands.size());
    target->set_scope(target->size() - 1, static_cast<uint16_t>(ops_[i].scope));
  }
}

void Window::complete(absl::Span<const uint64_t> live, PlanMode mode) {
  words_[0] = static_cast<uint64_t>(mode.fuse + 2 * mode.fast_math + 4 * mode.allow_tf32);
  if (words_.size() - num_words_ < live.size()) words_.resize(2 * words_.size() + live.size());
  std::copy(live.begin(), live.end(), words_.begin() + static_cast<int64_t>(num_words_));
  num_live_words_ = live.size();
}

fusion::Graph Window::to_graph() const {
  fusion::Graph graph;
  graph.nodes.reserve(inputs_.size() + num_ops_);
  absl::flat_hash_map<const runtime::Buffer*, int32_t> blocks;
  for (const Node* input : inputs_) {
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
  Reader reader(*this);
  for (size_t i = 0; i < num_ops_; ++i) {
    const auto [header, codes, attrs] = reader.next();
    fusion::GraphNode& node = graph.nodes.emplace_back();
    node.op = header.op;
    node.dtype = header.dtype;
    node.operand_dtype = header.operand_dtype;
    node.live = live(i);
    node.shape = ops_[i].node->layout.shape;
    node.attrs.assign(attrs.begin(), attrs.end());
    for (const OperandCode code : codes) {
      fusion::GraphOperand& operand = node.operands.emplace_back();
      switch (code.kind) {
        case OperandKind::kScalar: operand.scalar = graph.num_scalars++; break;
        case OperandKind::kInput: operand.node = static_cast<fusion::NodeId>(code.number); break;
        case OperandKind::kOp:
          operand.node = static_cast<fusion::NodeId>(inputs_.size() + i - code.number);
          break;
      }
    }
  }
  return graph;
}

void Window::unpin_inputs() {
  if (!std::exchange(pins_inputs_, false)) return;
  for (Node* input : inputs_) drop_pin(input);
}

void Window::clear() {
  unpin_inputs();
  pins_inputs_ = true;
  num_ops_ = 0;
  num_words_ = 1;
  inputs_.clear();
  num_described_ = 0;
  if (!input_numbers_.empty()) {
    inputs_before_ = input_numbers_.size();
    input_numbers_.clear();
  }
  scalars_.clear();
}

}  // namespace sluice::engine
