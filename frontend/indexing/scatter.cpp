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
  const DType dtype = how.how == Op::kScatterSet ? x.dtype() : compute_type(x.dtype());
  const Tensor base = astype(x, dtype), values = astype(updates, dtype);
  const engine::NodeOperand operands[] = {
      {base.node_ref().get()}, {positions.node_ref().get()}, {values.node_ref().get()}};
  return astype(record({.caller = {.name = how.op},
                        .op = how.how,
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
Dims extents_of_updates(const char* op, const Tensor& x, const Tensor& indices,
                        const Tensor& updates, int axis) {
  const std::optional<Shape> common = frontend::broadcast_shapes(indices.shape(), updates.shape());
  bool fits = common && indices.ndim() == x.ndim() && updates.ndim() == x.ndim();
  Dims dims;
  for (int k = 0; fits && k < x.ndim(); ++k) {
    dims.push_back(k == axis || (*common)[k] != 1 ? (*common)[k] : x.shape()[k]);
    fits = k == axis || dims[k] == x.shape()[k];
  }
  if (!fits) {
    fail(op, describe(x), ", indices ", describe(indices), " and updates ", describe(updates),
         " do not broadcast beside axis ", axis);
  }
  return dims;
}

// Of every such function.
Tensor scattered_along(const frontend::Assignment& how, const Arg& x, const Arg& indices,
                       const Arg& updates, int axis) {
  const char* const op = how.op;
  Tensor result = frontend::with_call(x, indices, op, [&](const Tensor& to, const Tensor& index) {
    const Tensor& values = updates.tensor();
    frontend::node_of(op, values);
    frontend::common_device(op, to, index);
    frontend::common_device(op, to, values);
    if (!is_integer(index.dtype())) {
      fail(op, "indices must be integers, not ", describe(index));
    }
    if (how.adds() && to.dtype() == DType::kBool) fail(op, "takes numbers, not ", describe(to));
    axis = frontend::check_axis(op, axis, to.ndim(), to);
    const Dims dims = extents_of_updates(op, to, index, values, axis);
    const Shape all = make_shape(op, span_of(dims), to);
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
          k == axis ? frontend::checked_positions(op, to, axis, index)
                    : frontend::coordinate(op, make_shape(op, span_of(along), to), k, to.device()));
    }
    position = broadcast_to(std::move(position), make_shape(op, span_of(of_positions), to));
    Tensor result_rows = frontend::scattered(
        how, reshape(to, Shape{rows, columns}), reshape(std::move(position), Shape{count}),
        reshape(broadcast_to(values, all), Shape{count, columns}));
    return reshape(std::move(result_rows), to.shape());
  });
  updates.release();
  return result;
}

}  // namespace

Tensor scatter(Arg x, Arg indices, Arg updates, int axis) {
  return scattered_along({"scatter", Op::kScatterSet}, x, indices, updates, axis);
}
Tensor put_along_axis(Arg x, Arg indices, Arg values, int axis) {
  return scattered_along({"put_along_axis", Op::kScatterSet}, x, indices, values, axis);
}
Tensor scatter_add(Arg x, Arg indices, Arg updates, int axis) {
  return scattered_along({"scatter_add", Op::kScatterAdd}, x, indices, updates, axis);
}
Tensor scatter_max(Arg x, Arg indices, Arg updates, int axis) {
  return scattered_along({"scatter_max", Op::kScatterMax}, x, indices, updates, axis);
}
Tensor scatter_min(Arg x, Arg indices, Arg updates, int axis) {
  return scattered_along({"scatter_min", Op::kScatterMin}, x, indices, updates, axis);
}

}  // namespace sluice
