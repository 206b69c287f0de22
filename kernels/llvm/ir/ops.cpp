#include "kernels/llvm/ir/ops.h"

#include <limits>

#include "kernels/llvm/ir/builder.h"
#include "kernels/math/op_expressions.h"

namespace sluice::kernels::ir {
namespace {

using fusion::Op;

using Ir = math::OpExpressions<Value>;

// In its lifetime expressions for `dtype` are for a compute type.
struct ComputeScope {
  explicit ComputeScope(DType type) : dtype(compute_type(type)), halves(type == DType::kFloat16) {}
  const DType dtype;
  const HalvesScope halves;
};

}  // namespace

llvm::Value* emit_pointwise(Op op, DType dtype, llvm::Value* const* operands) {
  const ComputeScope scope(dtype);
  return Ir::pointwise(op, scope.dtype, operands);
}

llvm::Value* emit_float16_form(Op op, llvm::Value* operand) {
  switch (op) {
#define SLUICE_FLOAT16_FORM(id, function) \
  case Op::k##id:                         \
    return math::of_float16::function(Value<float>{operand}).raw;
#include "kernels/math/float16_forms.def"
    default: return nullptr;
  }
}

llvm::Value* emit_cast(DType from, DType to, llvm::Value* value) {
  return Ir::cast(from, to, value);
}

llvm::Value* emit_canonical_nan(DType dtype, llvm::Value* value) {
  if (llvm::Value* done = raw::canonical_nan(compute_type(dtype), value)) return done;
  if (compute_type(dtype) == DType::kFloat64) return math::canonical_nan(Value<double>{value}).raw;
  return math::canonical_nan(Value<float>{value}).raw;
}

llvm::Value* emit_round_to_bfloat16(llvm::Value* value) {
  return math::round_to_bfloat16(Value<float>{value}).raw;
}

ReductionState emit_identity(Op op, DType dtype) {
  const ComputeScope scope(dtype);
  ReductionState state{Ir::identity(op, scope.dtype), nullptr};
  // The greatest position, so that even an equal element wins.
  if (fusion::is_arg_reduction(op)) {
    state.position = make_constant<int64_t>(std::numeric_limits<int64_t>::max()).raw;
  }
  return state;
}

ReductionState emit_combine_next(Op op, DType dtype, const ReductionState& a,
                                 const ReductionState& b) {
  if (!fusion::is_arg_reduction(op)) return emit_combine(op, dtype, a, b);
  const ComputeScope scope(dtype);
  Value<bool> better{Ir::combine(op, scope.dtype, a.value, b.value)};
  if (is_float(dtype)) {
    // NaN is better than any number: what is not worse nor equal, unless a is NaN already.
    const bool is_max = op == Op::kArgMax;
    const Value<bool> is_not_better{raw::compare(
        raw::Compare::kLe, dtype, is_max ? b.value : a.value, is_max ? a.value : b.value)};
    const Value<bool> is_number{raw::compare(raw::Compare::kEq, dtype, a.value, a.value)};
    better = mask_and(mask_not(is_not_better), is_number);
  }
  return {raw::select(better.raw, b.value, a.value),
          raw::select(better.raw, b.position, a.position)};
}

ReductionState emit_combine(Op op, DType dtype, const ReductionState& a, const ReductionState& b) {
  const ComputeScope scope(dtype);
  Value<bool> better{Ir::combine(op, scope.dtype, a.value, b.value)};
  if (!fusion::is_arg_reduction(op)) return {better.raw, nullptr};
  Value<bool> tie{raw::compare(raw::Compare::kEq, dtype, a.value, b.value)};
  if (is_float(dtype)) {
    const Value<bool> nan_a{raw::compare(raw::Compare::kNe, dtype, a.value, a.value)};
    const Value<bool> nan_b{raw::compare(raw::Compare::kNe, dtype, b.value, b.value)};
    better = mask_or(better, mask_and(nan_b, mask_not(nan_a)));
    tie = mask_or(tie, mask_and(nan_a, nan_b));
  }
  const Value<int64_t> pa{a.position}, pb{b.position};
  const Value<bool> take_b = mask_or(better, mask_and(tie, lt(pb, pa)));
  llvm::Value* value = raw::select(take_b.raw, b.value, a.value);
  return {value, raw::select(take_b.raw, b.position, a.position)};
}

}  // namespace sluice::kernels::ir
