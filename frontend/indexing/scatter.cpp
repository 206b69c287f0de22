#include "frontend/indexing/scatter.h"

#include <utility>

#include <sluice/ops.h>
#include "frontend/call.h"
#include "frontend/indexing/select.h"
#include "frontend/record.h"

namespace sluice {

using frontend::describe;
using frontend::Dims;
using frontend::fail;
using frontend::make_shape;
using frontend::span_of;
using fusion::Op;

namespace frontend {

Tensor scattered(const Assignment& how, const Tensor& x, const Tensor& positions,
                 const Tensor& updates) {
  const DType dtype = how.adds ? compute_type(x.dtype()) : x.dtype();
  const Tensor base = astype(x, dtype), values = astype(updates, dtype);
  const engine::NodeOperand operands[] = {
      {base.node_ref().get()}, {positions.node_ref().get()}, {values.node_ref().get()}};
  return astype(record({.caller = {.name = how.op},
                        .op = how.adds ? Op::kScatterAdd : Op::kScatterSet,
                        .dtype = dtype,
                        .operand_dtype = dtype,
                        .device = x.device(),
                        .shape = x.shape(),
                        .operands = operands}),
                x.dtype());
}

}  // namespace frontend

namespace {

// Indices and updates broadcast to these extents: x's, but along the axis.
Dims extents_of_updates(const Tensor& x, const Tensor& indices, const Tensor& updates, int axis) {
  const std::optional<Shape> common = frontend::broadcast_shapes(indices.shape(), updates.shape());
  bool fits = common && indices.ndim() == x.ndim() && updates.ndim() == x.ndim();
  Dims dims;
  for (int k = 0; fits && k < x.ndim(); ++k) {
    dims.push_back(k == axis || (*common)[k] != 1 ? (*common)[k] : x.shape()[k]);
    fits = k == axis || dims[k] == x.shape()[k];
  }
  if (!fits) {
    fail("scatter_add", describe(x), ", indices ", describe(indices), " and updates ",
         describe(updates), " do not broadcast beside axis ", axis);
  }
  return dims;
}

}  // namespace

Tensor scatter_add(Arg x, Arg indices, Arg updates, int axis) {
  constexpr const char* kOp = "scatter_add";
  Tensor result = frontend::with_call(x, indices, kOp, [&](const Tensor& to, const Tensor& index) {
    const Tensor& values = updates.tensor();
    frontend::node_of(kOp, values);
    frontend::common_device(kOp, to, index);
    frontend::common_device(kOp, to, values);
    if (!is_integer(index.dtype())) {
      fail(kOp, "indices must be integers, not ", describe(index));
    }
    if (to.dtype() == DType::kBool) fail(kOp, "takes numbers, not ", describe(to));
    axis = frontend::check_axis(kOp, axis, to.ndim(), to);
    const Dims dims = extents_of_updates(to, index, values, axis);
    const Shape all = make_shape(kOp, span_of(dims), to);
    if (all.numel() == 0) return to;

    // Axes behind `axis` along which the indices do not vary make a row.
    int first_of_row = to.ndim();
    while (first_of_row - 1 > axis && index.shape()[first_of_row - 1] == 1) --first_of_row;
    Dims of_positions = dims;
    int64_t rows = 1, columns = 1, count = 1;
    for (int k = 0; k < to.ndim(); ++k) {
      if (k >= first_of_row) of_positions[k] = 1;
      (k < first_of_row ? rows : columns) *= to.shape()[k];
      count *= of_positions[k];
    }
    Tensor position;
    for (int k = 0; k < first_of_row; ++k) {
      Dims along(to.ndim(), 1);
      along[k] = dims[k];
      position = frontend::with_axis(
          std::move(position), to.shape()[k],
          k == axis
              ? frontend::checked_positions(kOp, to, axis, index)
              : frontend::coordinate(kOp, make_shape(kOp, span_of(along), to), k, to.device()));
    }
    position = broadcast_to(std::move(position), make_shape(kOp, span_of(of_positions), to));
    Tensor sums = frontend::scattered({kOp, true}, reshape(to, Shape{rows, columns}),
                                      reshape(std::move(position), Shape{count}),
                                      reshape(broadcast_to(values, all), Shape{count, columns}));
    return reshape(std::move(sums), to.shape());
  });
  updates.release();
  return result;
}

}  // namespace sluice
