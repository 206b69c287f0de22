// How a window encodes an op in 64-bit words:
//
//   header
//   operands, two per word
//   extents, unless they equal those of the previous op
//   the number of attributes and the attributes, if there are any
//   dtype and rank, extents and strides of each input that no earlier op reads
#ifndef SLUICE_ENGINE_RECORD_OP_WORDS_H_
#define SLUICE_ENGINE_RECORD_OP_WORDS_H_

#include <cstddef>
#include <cstdint>

#include <sluice/dtype.h>
#include "fusion/ir/op.h"

namespace sluice::engine {

struct OpHeader {
  fusion::Op op;
  DType dtype, operand_dtype;
  uint8_t rank;
  bool has_attrs, has_extents;
  uint32_t num_operands;

  static constexpr uint64_t kHasExtents = uint64_t{1} << 29;

  constexpr uint64_t pack() const {
    return static_cast<uint64_t>(op) | static_cast<uint64_t>(dtype) << 8 |
           static_cast<uint64_t>(operand_dtype) << 16 | uint64_t{rank} << 24 |
           uint64_t{has_attrs} << 28 | (has_extents ? kHasExtents : 0) |
           uint64_t{num_operands} << 32;
  }
  static constexpr OpHeader unpack(uint64_t word) {
    return {static_cast<fusion::Op>(word & 0xff),
            static_cast<DType>(word >> 8 & 0xff),
            static_cast<DType>(word >> 16 & 0xff),
            static_cast<uint8_t>(word >> 24 & 0xf),
            (word >> 28 & 1) != 0,
            (word & kHasExtents) != 0,
            static_cast<uint32_t>(word >> 32)};
  }
};

// An operand's kind and number: an input's number, or the distance back to an earlier op.
enum class OperandKind : uint32_t { kScalar, kInput, kOp };

struct OperandCode {
  OperandKind kind;
  uint32_t number = 0;

  constexpr uint32_t pack() const { return static_cast<uint32_t>(kind) | number << 2; }
  static constexpr OperandCode unpack(uint32_t code) {
    return {static_cast<OperandKind>(code & 3), code >> 2};
  }
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RECORD_OP_WORDS_H_
