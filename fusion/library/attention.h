// Library calls that attend: a softmax of products of queries and keys, by which values are summed.
#ifndef SLUICE_FUSION_LIBRARY_ATTENTION_H_
#define SLUICE_FUSION_LIBRARY_ATTENTION_H_

#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include <sluice/dtype.h>
#include "fusion/lower/step.h"

namespace sluice::fusion {

// Which operand says what queries see of keys.
enum class AttentionMask : uint8_t {
  kNone,
  kBool,   // what is true
  kFloat,  // float32, added to the scores
};

// The attributes of the op, in their order.
struct AttentionFlags {
  int64_t mask = 0;    // an AttentionMask
  int64_t causal = 0;  // query i sees the keys up to i
  int64_t scale = 0;   // of the scores: the bits of a double

  template <typename Flags, typename F>
  static void for_each_number(Flags& of, F f) {
    for (auto* number : {&of.mask, &of.causal, &of.scale}) f(*number);
  }
};

// Where an operand is, in elements from the base of its block.
struct AttentionOperand {
  int64_t offset = 0;
  std::array<int64_t, 4> strides{};  // of batch, head, row, column
};

// Buffers: the op's operands, which fusion/ir/library.def lists, and the result.
struct AttentionAttributes : SizedAttributes<AttentionAttributes> {
  static constexpr int kMaxOperands = 4;

  DType dtype = DType::kFloat32;
  AttentionFlags flags;
  int64_t batch = 0, heads = 0, key_heads = 0;
  int64_t length = 0, key_length = 0, depth = 0, value_depth = 0;
  std::array<AttentionOperand, kMaxOperands> operands;

  template <typename Attributes, typename F>
  static void for_each_number(Attributes& of, F f) {
    for (auto* number : {&of.batch, &of.heads, &of.key_heads, &of.length, &of.key_length, &of.depth,
                         &of.value_depth}) {
      f(*number);
    }
    for (auto& operand : of.operands) {
      f(operand.offset);
      for (auto& stride : operand.strides) f(stride);
    }
  }
  AttentionMask mask() const { return static_cast<AttentionMask>(flags.mask); }
  double scale() const { return std::bit_cast<double>(flags.scale); }
  std::string text() const override;
  int64_t flops() const override {
    return 2 * batch * heads * length * key_length * (depth + value_depth);
  }
  double cost() const override;
};

// `call` is of kind kAttention.
inline const AttentionAttributes& attention_of(const LibraryCall& call) {
  return static_cast<const AttentionAttributes&>(*call.attributes);
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LIBRARY_ATTENTION_H_
