// The expressions of fusion/ir/ops.def as IR. Values are of compute types (half types are float32)
// and of the current lane count of this thread's ir::Builder. With float16 as their dtype the ops
// of kernels/llvm/body/halves.h take halves and give halves.
#ifndef SLUICE_KERNELS_LLVM_IR_OPS_H_
#define SLUICE_KERNELS_LLVM_IR_OPS_H_

#include "fusion/ir/op.h"
#include "kernels/llvm/ir/value.h"

namespace sluice::kernels::ir {

// A pointwise op other than kCast. `dtype` is the compute type that the expression is instantiated
// for (fusion::expression_dtype), or float16. Null if the op is not defined for it.
llvm::Value* emit_pointwise(fusion::Op op, DType dtype, llvm::Value* const* operands);
// The op's form for float16 (kernels/math/float16.h); null if it has none.
llvm::Value* emit_float16_form(fusion::Op op, llvm::Value* operand);

// Between compute types.
llvm::Value* emit_cast(DType from, DType to, llvm::Value* value);
// `value` with every NaN the canonical one.
llvm::Value* emit_canonical_nan(DType dtype, llvm::Value* value);
llvm::Value* emit_round_to_bfloat16(llvm::Value* value);

// The state of a reduction: what it has accumulated and, if it keeps a position, where that value
// was found; else null.
struct ReductionState {
  llvm::Value* value = nullptr;
  llvm::Value* position = nullptr;
};
// Changes no state that it is combined with.
ReductionState emit_identity(fusion::Op op, DType dtype);
// Of equal values, and of NaNs, the lesser position wins.
ReductionState emit_combine(fusion::Op op, DType dtype, const ReductionState& a,
                            const ReductionState& b);
// Likewise, where every position of `b` is after those of `a`; positions of any integer type.
ReductionState emit_combine_next(fusion::Op op, DType dtype, const ReductionState& a,
                                 const ReductionState& b);

}  // namespace sluice::kernels::ir

#endif  // SLUICE_KERNELS_LLVM_IR_OPS_H_
