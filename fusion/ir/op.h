// What the engine knows of each op: the table that fusion/ir/ops.def fills, one row an op.
#ifndef SLUICE_FUSION_IR_OP_H_
#define SLUICE_FUSION_IR_OP_H_

#include <array>
#include <cstdint>

#include <sluice/dtype.h>

namespace sluice::fusion {

enum class Op : uint8_t {
  // Structural ops: they say where a value comes from, not how it is computed.
  kInput,       // in memory already, at the layout that the graph node says
  kFull,        // every element is scalar operand 0
  kCoordinate,  // int64: the element's index along attribute `axis`
  kCast,        // operand 0 in the result's dtype

  // Views: the element at an index is operand 0's element at another index.
  kReshape,    // same elements in row-major order
  kPermute,    // result axis i is operand axis attrs[i]
  kBroadcast,  // NumPy broadcasting of operand 0 to the result's shape
  kSlice,      // attrs: (start, step) for each axis; step != 0

  kPad,     // attrs: elements before, for each axis; operand 1 is the fill value
  kConcat,  // attrs: axis; operands are laid one after another along it
  kRoll,    // attrs: axis, shift in (0, extent): operand 0's element shift before, cyclically
  kTakeAlongAxis,  // attrs: axis; operand 0 at operand 1's index along it

#define SLUICE_LIBRARY_OP(id, name, arity, kind, gradient) k##id,
#include "fusion/ir/library.def"

#define SLUICE_POINTWISE(id, name, arity, rule, domain, ...) k##id,
#define SLUICE_INTERNAL(id, name, arity, in, out, ...) k##id,
#include "fusion/ir/ops.def"

#define SLUICE_REDUCTION(id, name, domain, identity, ...) k##id,
#define SLUICE_ARG_REDUCTION SLUICE_REDUCTION
#include "fusion/ir/ops.def"

  // Instructions of a Program (see program.h) that no graph holds.
  kLoad,
  kGather,
  kScalar,
  kParam,
  kCheckIndex,
  kExpand,

  kCount
};

inline constexpr int kNumOps = static_cast<int>(Op::kCount);

enum class OpClass : uint8_t {
  kInput,
  kSource,     // kFull, kCoordinate
  kPointwise,  // one element from the same element of each operand; casts are of this class
  kView,       // reindexes operand 0: never computes
  kPad,
  kConcat,
  kRoll,
  kGather,
  kReduction,
  kLibrary,
  kProgramOnly,
};

// How the result's dtype follows from the operands'.
enum class TypeRule : uint8_t {
  kSame,       // the promoted dtype of all operands
  kFloat,      // likewise, after integers became float32
  kPredicate,  // operands are promoted; the result is bool
  kLogical,    // operands become bool; so is the result
  kSelect,     // operand 0 becomes bool; the others are promoted and give the result
  kFixed,      // op_info().operand_dtype -> op_info().result_dtype
};

// The compute types a pointwise expression is instantiated for, as bits.
enum Domain : uint8_t {
  kBool = 1,
  kInteger = 2,
  kFloating = 4,
  kIntegral = kBool | kInteger,
  kNumber = kInteger | kFloating,
  kAll = kBool | kInteger | kFloating,
};

struct OpInfo {
  const char* name;
  OpClass op_class;
  int8_t arity;  // -1: any number
  TypeRule rule;
  Domain domain;
  DType operand_dtype;          // for TypeRule::kFixed
  DType result_dtype;           // for TypeRule::kFixed
  bool keeps_position = false;  // a reduction that gives the int64 position of an element
};

extern const std::array<OpInfo, kNumOps> kOpTable;

inline const OpInfo& op_info(Op op) { return kOpTable[static_cast<int>(op)]; }

inline const char* name_of(Op op) { return op_info(op).name; }
inline OpClass class_of(Op op) { return op_info(op).op_class; }
inline bool is_pointwise(Op op) { return class_of(op) == OpClass::kPointwise; }
inline bool is_view(Op op) { return class_of(op) == OpClass::kView; }
inline bool is_reduction(Op op) { return class_of(op) == OpClass::kReduction; }
inline bool is_arg_reduction(Op op) { return op_info(op).keeps_position; }

// True if `domain` holds the compute type of `dtype`.
constexpr bool in_domain(Domain domain, DType dtype) {
  const Domain bit = dtype == DType::kBool ? kBool : is_float(dtype) ? kFloating : kInteger;
  return (domain & bit) != 0;
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_IR_OP_H_
