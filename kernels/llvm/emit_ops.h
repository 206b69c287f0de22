// The expressions of fusion/ir/ops.def as IR. Values are of compute types (half types are float32)
// and of the current lane count of this thread's ir::Builder.
#ifndef SLUICE_KERNELS_LLVM_EMIT_OPS_H_
#define SLUICE_KERNELS_LLVM_EMIT_OPS_H_

#include "fusion/ir/op.h"
#include "kernels/llvm/ir_value.h"

namespace sluice::kernels::ir {

// A pointwise op other than kCast. `dtype` is what the expression is instantiated for: the compute
// type of its operands (of operand 1 for kSelect ops). Null if the op is not defined for it.
llvm::Value* emit_pointwise(fusion::Op op, DType dtype, llvm::Value* const* operands);

// Between compute types; a half `from` or `to` stands for float32.
llvm::Value* emit_cast(DType from, DType to, llvm::Value* value);
// `value` with every NaN the canonical one.
llvm::Value* emit_canonical_nan(DType dtype, llvm::Value* value);
llvm::Value* emit_round_to_bfloat16(llvm::Value* value);

// Reductions other than kArgMax and kArgMin.
llvm::Value* emit_identity(fusion::Op op, DType dtype);
llvm::Value* emit_combine(fusion::Op op, DType dtype, llvm::Value* a, llvm::Value* b);

// An arg reduction's state: the best value yet and its position.
struct ArgState {
  llvm::Value* value;
  llvm::Value* position;
};
// Loses against every element.
ArgState emit_arg_identity(fusion::Op op, DType dtype);
// Of equal values, and of NaNs, the lesser position wins.
ArgState emit_arg_combine(fusion::Op op, DType dtype, ArgState a, ArgState b);

}  // namespace sluice::kernels::ir

#endif  // SLUICE_KERNELS_LLVM_EMIT_OPS_H_
