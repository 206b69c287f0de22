#include "fusion/ir/op.h"

namespace sluice::fusion {
namespace {

constexpr OpInfo structural(const char* name, OpClass op_class, int8_t arity) {
  return {name, op_class, arity, TypeRule::kSame, kAll, DType::kBool, DType::kBool};
}

constexpr std::array<OpInfo, kNumOps> make_table() {
  std::array<OpInfo, kNumOps> table{};
  auto at = [&table](Op op) -> OpInfo& { return table[static_cast<int>(op)]; };

  at(Op::kInput) = structural("input", OpClass::kInput, 0);
  at(Op::kFull) = structural("full", OpClass::kSource, 1);
  at(Op::kCoordinate) = structural("coordinate", OpClass::kSource, 0);
  at(Op::kCast) = structural("astype", OpClass::kPointwise, 1);
  at(Op::kReshape) = structural("reshape", OpClass::kView, 1);
  at(Op::kPermute) = structural("permute", OpClass::kView, 1);
  at(Op::kBroadcast) = structural("broadcast_to", OpClass::kView, 1);
  at(Op::kSlice) = structural("slice", OpClass::kView, 1);
  at(Op::kPad) = structural("pad", OpClass::kPad, 2);
  at(Op::kConcat) = structural("concat", OpClass::kConcat, -1);
  at(Op::kRoll) = structural("roll", OpClass::kRoll, 1);
  at(Op::kTakeAlongAxis) = structural("take_along_axis", OpClass::kGather, 2);
#define SLUICE_LIBRARY_OP(id, name, arity, kind, gradient) \
  at(Op::k##id) = structural(name, OpClass::kLibrary, arity);
#include "fusion/ir/library.def"
  at(Op::kLoad) = structural("load", OpClass::kProgramOnly, -1);
  at(Op::kGather) = structural("gather", OpClass::kProgramOnly, -1);
  at(Op::kScalar) = structural("scalar", OpClass::kProgramOnly, 0);
  at(Op::kParam) = structural("param", OpClass::kProgramOnly, 0);
  at(Op::kExpand) = structural("expand", OpClass::kProgramOnly, 1);
  at(Op::kCheckIndex) = structural("check_index", OpClass::kProgramOnly, -1);

#define SLUICE_POINTWISE(id, name, arity, rule, domain, ...)                 \
  at(Op::k##id) = {name,   OpClass::kPointwise, arity,       TypeRule::rule, \
                   domain, DType::kBool,        DType::kBool};
#define SLUICE_INTERNAL(id, name, arity, in, out, ...) \
  at(Op::k##id) = {name, OpClass::kPointwise, arity, TypeRule::kFixed, kAll, DType::in, DType::out};
#define SLUICE_REDUCTION(id, name, domain, identity, ...)                     \
  at(Op::k##id) = {name,   OpClass::kReduction, 1,           TypeRule::kSame, \
                   domain, DType::kBool,        DType::kBool};
#define SLUICE_ARG_REDUCTION(id, name, domain, identity, ...)                          \
  at(Op::k##id) = {                                                                    \
      name,          OpClass::kReduction,    1, TypeRule::kSame, domain, DType::kBool, \
      DType::kInt64, /*keeps_position=*/true};
#include "fusion/ir/ops.def"
  return table;
}

}  // namespace

constexpr std::array<OpInfo, kNumOps> kOpTable = make_table();

}  // namespace sluice::fusion
