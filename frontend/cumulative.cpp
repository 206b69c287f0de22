// Cumulative sums, products and the like.
#include <sluice/ops.h>
#include "frontend/call.h"
#include "frontend/checks.h"
#include "frontend/composed/compose.h"
#include "frontend/record.h"
#include "frontend/reduce.h"

namespace sluice {
namespace {

using fusion::Op;

// Integers are combined in 64 bits.
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

// A scan's result with its initial value before it.
Tensor after_initial(const Tensor& result, int axis, bool include_initial, int initial) {
  if (!include_initial) return result;
  std::vector<std::pair<int64_t, int64_t>> widths(result.ndim());
  widths[axis < 0 ? axis + result.ndim() : axis].first = 1;
  return pad(result, widths, initial);
}

}  // namespace

Tensor cumsum(Arg x, int axis) { return scan("cumsum", Op::kCumsum, x, axis); }
Tensor cumprod(Arg x, int axis) { return scan("cumprod", Op::kCumprod, x, axis); }

Tensor cummax(Arg x, int axis) {
  return frontend::composed(x, "cummax", [&](const Tensor& tensor) {
    return astype(scan("cummax", Op::kCummax, tensor, axis), tensor.dtype());
  });
}
Tensor cummin(Arg x, int axis) {
  return frontend::composed(x, "cummin", [&](const Tensor& tensor) {
    return astype(scan("cummin", Op::kCummin, tensor, axis), tensor.dtype());
  });
}
Tensor logcumsumexp(Arg x, int axis) {
  return frontend::composed(x, "logcumsumexp", [&](const Tensor& tensor) {
    return scan("logcumsumexp", Op::kLogcumsumexp, astype(tensor, float_type(tensor.dtype())),
                axis);
  });
}

Tensor cumulative_sum(Arg x, int axis, bool include_initial) {
  return frontend::composed(x, "cumulative_sum", [&](const Tensor& tensor) {
    return after_initial(cumsum(tensor, axis), axis, include_initial, 0);
  });
}
Tensor cumulative_prod(Arg x, int axis, bool include_initial) {
  return frontend::composed(x, "cumulative_prod", [&](const Tensor& tensor) {
    return after_initial(cumprod(tensor, axis), axis, include_initial, 1);
  });
}

}  // namespace sluice
