// The scalar expressions of fusion/ir/ops.def, casts and reductions as C++ text.
#ifndef SLUICE_KERNELS_GPU_EMIT_EXPRESSION_H_
#define SLUICE_KERNELS_GPU_EMIT_EXPRESSION_H_

#include <cstdint>
#include <string>
#include <vector>

#include <sluice/dtype.h>
#include "fusion/ir/op.h"
#include "kernels/gpu/emit/text_value.h"

namespace sluice::kernels::cuda {

// Statements and what names the value they lead to: an operand, a literal, or the last statement.
struct Expression {
  std::vector<Statement> statements;
  std::string result;

  // No function is needed for it.
  bool is_simple() const { return statements.size() <= 1; }
  // Of a simple one.
  const std::string& text() const { return statements.empty() ? result : statements[0].expression; }
};

// Compute types that a row of device_functions.def is there for.
enum class DeviceTypes : uint8_t {
  kNone,
  kIntegers = 1,
  kFloat32 = 2,
  kFloat64 = 4,
  kFloating = kFloat32 | kFloat64,
};

// The name of the library function that computes `op` as a whole for a compute type, or null.
const char* library_function(fusion::Op op, DType dtype);

// The dtype of a pointwise op's result.
DType result_dtype(fusion::Op op, DType dtype);

// `dtype` is the compute type that the expression is instantiated for (fusion::expression_dtype).
// Operands are names.
Expression pointwise(fusion::Op op, DType dtype, const std::string* operands);
Expression cast(DType from, DType to, const std::string& operand);

// Reductions, over compute types. Of one that keeps a position: the identity of its value, and
// whether `b` is better than `a`.
std::string identity(fusion::Op op, DType dtype);
Expression combine(fusion::Op op, DType dtype, const std::string& a, const std::string& b);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_GPU_EMIT_EXPRESSION_H_
