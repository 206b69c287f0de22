// Cumulative sums and products.
#include <sluice/ops.h>
#include "frontend/call.h"
#include "frontend/checks.h"
#include "frontend/record.h"
#include "frontend/reduce.h"

namespace sluice {
namespace {

using fusion::Op;

Tensor scan(const char* name, Op op, const Arg& x, int axis) {
  return frontend::with_call(x, name, [&](const Tensor& tensor) {
    const int64_t checked = frontend::check_axis(name, axis, tensor.ndim(), tensor);
    const DType dtype = frontend::sum_dtype(tensor.dtype());
    const Tensor values = astype(tensor, dtype);
    const engine::NodeOperand operand{values.node_ref().get()};
    return frontend::record({.caller = {.name = name},
                             .op = op,
                             .dtype = dtype,
                             .operand_dtype = dtype,
                             .device = tensor.device(),
                             .shape = tensor.shape(),
                             .operands = {&operand, 1},
                             .attrs = {&checked, 1}});
  });
}

}  // namespace

Tensor cumsum(Arg x, int axis) { return scan("cumsum", Op::kCumsum, x, axis); }
Tensor cumprod(Arg x, int axis) { return scan("cumprod", Op::kCumprod, x, axis); }

}  // namespace sluice
