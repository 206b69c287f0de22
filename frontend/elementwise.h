// Element-wise ops by their number.
#ifndef SLUICE_FRONTEND_ELEMENTWISE_H_
#define SLUICE_FRONTEND_ELEMENTWISE_H_

#include <sluice/tensor.h>
#include "absl/types/span.h"
#include "fusion/ir/op.h"

namespace sluice::frontend {

// The op of these operands. The op comes last, so that an operator's arguments are where it finds
// them.
Tensor unary(const Arg& x, fusion::Op op);
// Not pow(), which is other ops for some exponents.
Tensor binary(const Arg& x, const Arg& y, fusion::Op op);
Tensor binary(const Arg& x, Scalar y, fusion::Op op);
Tensor binary(Scalar x, const Arg& y, fusion::Op op);

// Any, called at `where`.
Tensor general_pointwise(fusion::Op op, absl::Span<const Operand> operands, const Location& where);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_ELEMENTWISE_H_
