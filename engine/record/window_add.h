// Window::add(), which every op goes through: inline, for the queue.
#ifndef SLUICE_ENGINE_RECORD_WINDOW_ADD_H_
#define SLUICE_ENGINE_RECORD_WINDOW_ADD_H_

#include <algorithm>

#include "engine/record/window.h"
#include "runtime/for_each_index.h"

namespace sluice::engine {
namespace window_words {

inline uint64_t* put(const Shape& shape, uint64_t* at) {
  for (int k = 0; k < shape.rank(); ++k) *at++ = static_cast<uint64_t>(shape[k]);
  return at;
}

inline uint64_t* put_description(const Node& input, uint64_t* at) {
  const Layout& layout = input.layout;
  *at++ = static_cast<uint64_t>(input.dtype) | static_cast<uint64_t>(layout.shape.rank()) << 8;
  at = put(layout.shape, at);
  for (int k = 0; k < layout.shape.rank(); ++k) *at++ = static_cast<uint64_t>(layout.strides[k]);
  return at;
}

// Its code and its description.
inline constexpr size_t kMostOfOperand = 2 + 2 * kMaxRank;

inline bool is_same(const Shape& a, const Shape& b) { return &a == &b || a == b; }

}  // namespace window_words

inline uint32_t Window::number_of(Node* input) {
  const uint32_t hint = input->input_number.load(std::memory_order_relaxed);
  if (hint < inputs_.size() && inputs_[hint] == input) [[likely]]
    return hint;
  return look_up(input);
}

[[gnu::always_inline]] inline OperandCode Window::code_of(const NodeOperand& operand,
                                                          uint32_t position) {
  if (operand.node == nullptr) {
    const uint64_t scalar = operand.scalar;  // so that nothing points into the operand
    scalars_.push_back(scalar);
    return {OperandKind::kScalar};
  }
  if (operand.node->submitted()) return {OperandKind::kInput, number_of(operand.node)};
  const uint32_t read = operand.node->position;
  ops_[read].is_read = 1;
  return {OperandKind::kOp, position - read};
}

template <typename Size>
[[gnu::always_inline]] inline void Window::add(Node* node, const OpCall& call, Size num_operands) {
  const size_t most =
      2 + kMaxRank + num_operands * window_words::kMostOfOperand + call.attrs.size();
  if (num_ops_ == ops_.size() || num_words_ + most > words_.size()) [[unlikely]]
    grow(most);
  uint64_t* const begin = words_.data() + num_words_;
  uint64_t* at = begin + 1;
  const auto position = static_cast<uint32_t>(num_ops_);
  const NodeOperand* const operands = call.operands.data();
  for_each_index(
      num_operands, [&](size_t k) __attribute__((always_inline)) {
        const uint64_t code = code_of(operands[k], position).pack();
        if (k % 2 == 0) {
          *at = code;
        } else {
          *at++ |= code << 32;
        }
      });
  at += num_operands % 2;

  const Shape& shape = call.shape;
  const uint64_t header = OpHeader{call.op,
                                   call.dtype,
                                   call.operand_dtype,
                                   static_cast<uint8_t>(shape.rank()),
                                   !call.attrs.empty(),
                                   false,
                                   static_cast<uint32_t>(num_operands)}
                              .pack();
  if (position != 0 && window_words::is_same(shape, ops_[position - 1].node->layout.shape)) {
    *begin = header;
  } else {
    *begin = header | OpHeader::kHasExtents;
    at = window_words::put(shape, at);
  }
  if (!call.attrs.empty()) [[unlikely]] {
    *at++ = call.attrs.size();
    at = std::copy(call.attrs.begin(), call.attrs.end(), at);
  }
  if (num_described_ != inputs_.size()) [[unlikely]] {
    do {
      at = window_words::put_description(*inputs_[num_described_], at);
    } while (++num_described_ != inputs_.size());
  }
  node->position = position;
  ops_[position] = {node, num_words_ & 0xffffffff, 0, 0, call.caller};
  num_ops_ = position + 1;
  num_words_ = static_cast<size_t>(at - words_.data());
}

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RECORD_WINDOW_ADD_H_
