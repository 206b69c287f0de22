// Elements in order along an axis, and where they are.
#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/call.h"
#include "frontend/dims.h"
#include "frontend/record.h"
#include "fusion/library/sort.h"

namespace sluice {
namespace {

using frontend::describe;
using frontend::Dims;
using frontend::fail;
using fusion::Op;

// `op` along the axis, of which the result has `count` elements.
Tensor sorted(const char* name, Op op, const Tensor& x, int axis, int64_t count, bool descending) {
  Dims dims = frontend::dims_of(x);
  dims[axis] = count;
  if (x.shape()[axis] == 1) {
    if (op == Op::kSort) return x;
    const Shape shape = frontend::make_shape(name, frontend::span_of(dims), x);
    return zeros(shape, DType::kInt64, x.device());
  }
  const engine::NodeOperand operand{x.node_ref().get()};
  const int64_t attrs[] = {axis, descending};
  return frontend::record({.caller = {.name = name},
                           .op = op,
                           .dtype = op == Op::kSort ? x.dtype() : DType::kInt64,
                           .operand_dtype = x.dtype(),
                           .device = x.device(),
                           .shape = frontend::make_shape(name, frontend::span_of(dims), x),
                           .operands = {&operand, 1},
                           .attrs = attrs});
}

Tensor sorted(const char* name, Op op, const Arg& x, int axis, bool descending) {
  return frontend::with_call(x, name, [&](const Tensor& tensor) {
    const int along = frontend::check_axis(name, axis, tensor.ndim(), tensor);
    return sorted(name, op, tensor, along, tensor.shape()[along], descending);
  });
}

}  // namespace

Tensor sort(Arg x, int axis, bool descending) {
  return sorted("sort", Op::kSort, x, axis, descending);
}

Tensor argsort(Arg x, int axis, bool descending) {
  return sorted("argsort", Op::kArgsort, x, axis, descending);
}

TensorPair topk(Arg x, int64_t k, int axis) {
  constexpr const char* kOp = "topk";
  return frontend::with_call(x, kOp, [&](const Tensor& tensor) {
    const int along = frontend::check_axis(kOp, axis, tensor.ndim(), tensor);
    const int64_t extent = tensor.shape()[along];
    if (k < 0 || k > extent) {
      fail(kOp, k, " elements of the ", extent, " along axis ", along, " of ", describe(tensor));
    }
    const bool selects =
        tensor.device().type() == DeviceType::kCpu || fusion::is_selected(extent, k);
    const Tensor indices =
        selects ? sorted(kOp, Op::kTopk, tensor, along, k, true)
                : slice(sorted(kOp, Op::kArgsort, tensor, along, extent, true), along, 0, k);
    return TensorPair(take_along_axis(tensor, indices, along), indices);
  });
}

Tensor searchsorted(Arg x, Arg values, bool right, const Tensor& sorter) {
  constexpr const char* kOp = "searchsorted";
  return frontend::with_call(x, values, kOp, [&](const Tensor& line, const Tensor& wanted) {
    frontend::common_device(kOp, line, wanted);
    if (line.ndim() != 1) fail(kOp, "x must have one axis, ", describe(line), " does not");
    if (sorter.defined() && sorter.shape() != line.shape()) {
      fail(kOp, "the sorter ", describe(sorter), " is not of the shape of x ", describe(line));
    }
    const DType dtype = promote(line.dtype(), wanted.dtype());
    const Tensor in_order = astype(sorter.defined() ? take(line, sorter, 0) : line, dtype);
    const Tensor flat = astype(reshape(wanted, Shape{wanted.numel()}), dtype);
    const engine::NodeOperand operands[] = {{in_order.node_ref().get()}, {flat.node_ref().get()}};
    const int64_t attr = right;
    const Tensor found = frontend::record({.caller = {.name = kOp},
                                           .op = Op::kSearchsorted,
                                           .dtype = DType::kInt64,
                                           .operand_dtype = dtype,
                                           .device = line.device(),
                                           .shape = flat.shape(),
                                           .operands = operands,
                                           .attrs = {&attr, 1}});
    return reshape(found, wanted.shape());
  });
}

}  // namespace sluice
