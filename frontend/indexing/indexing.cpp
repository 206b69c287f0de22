#include <vector>

#include <sluice/ops.h>
#include "frontend/call.h"
#include "frontend/record.h"

namespace sluice {
namespace {

using frontend::check_axis;
using frontend::describe;
using frontend::fail;
using frontend::with_call;
using fusion::Op;

void check_indices(const char* name, const Tensor& indices) {
  if (!is_integer(indices.dtype())) {
    fail(name, "indices must be integers, not ", describe(indices));
  }
}

// Operand 1 broadcasts to `shape`. The second attribute says which op the user called.
Tensor take_along(const char* name, const Tensor& x, const Tensor& indices, int axis,
                  const Shape& shape, bool is_take) {
  const Device device = frontend::common_device(name, x, indices);
  if (x.shape()[axis] == 0 && shape.numel() > 0) {
    throw Error(ErrorCode::kOutOfRange,
                absl::StrCat(name, ": axis ", axis, " of ", describe(x), " has no elements"));
  }
  const engine::NodeOperand operands[] = {{x.node_ref().get()}, {indices.node_ref().get()}};
  const int64_t attrs[] = {axis, is_take};
  return frontend::record({.caller = {.name = name},
                           .op = Op::kTakeAlongAxis,
                           .dtype = x.dtype(),
                           .operand_dtype = x.dtype(),
                           .device = device,
                           .shape = shape,
                           .operands = operands,
                           .attrs = attrs});
}

}  // namespace

Tensor take(Arg x, Arg indices, int axis) {
  return with_call(x, indices, "take", [&](const Tensor& source, const Tensor& index) {
    check_indices("take", index);
    axis = check_axis("take", axis, source.ndim(), source);
    std::vector<int64_t> dims(source.shape().begin(), source.shape().end());
    std::vector<int64_t> index_dims(source.ndim(), 1);
    dims[axis] = index_dims[axis] = index.numel();
    Tensor result =
        take_along("take", source, reshape(index, frontend::make_shape("take", index_dims, source)),
                   axis, frontend::make_shape("take", dims, source), true);
    if (index.ndim() != 1) {
      dims.erase(dims.begin() + axis);
      dims.insert(dims.begin() + axis, index.shape().begin(), index.shape().end());
      if (dims.size() > kMaxRank) {
        fail("take", describe(source), " at ", describe(index), " has more than ", kMaxRank,
             " dimensions");
      }
      result = reshape(std::move(result), frontend::make_shape("take", dims, source));
    }
    return result;
  });
}

Tensor take(Arg x, std::initializer_list<int64_t> indices, int axis) {
  return with_call(x, "take", [&](const Tensor& source) {
    return take(source, Tensor::from(indices).to(source.device()), axis);
  });
}

Tensor take_along_axis(Arg x, Arg indices, int axis) {
  return with_call(x, indices, "take_along_axis", [&](const Tensor& source, const Tensor& index) {
    check_indices("take_along_axis", index);
    axis = check_axis("take_along_axis", axis, source.ndim(), source);
    bool fits = source.ndim() == index.ndim();
    std::vector<int64_t> dims(index.shape().begin(), index.shape().end());
    for (int i = 0; fits && i < source.ndim(); ++i) {
      if (i == axis || source.shape()[i] == dims[i] || source.shape()[i] == 1) continue;
      fits = dims[i] == 1;
      dims[i] = source.shape()[i];
    }
    if (!fits) {
      fail("take_along_axis", describe(source), " and indices ", describe(index),
           " do not broadcast beside axis ", axis);
    }
    Tensor result = take_along("take_along_axis", source, index, axis,
                               frontend::make_shape("take_along_axis", dims, source), false);
    return result;
  });
}

Tensor gather(Arg x, Arg indices, int axis) {
  const engine::CallSite site(x.where(), "gather");
  return take_along_axis(x, indices, axis);
}

Tensor one_hot(Arg indices, int64_t classes, DType dtype) {
  return with_call(indices, "one_hot", [&](const Tensor& index) {
    check_indices("one_hot", index);
    if (classes < 0) fail("one_hot", "classes is ", classes);
    if (index.ndim() == kMaxRank) {
      fail("one_hot", describe(index), " has ", kMaxRank, " dimensions");
    }
    return astype(astype(expand_dims(index, -1), DType::kInt64) ==
                      frontend::coordinate("one_hot", Shape{classes}, 0, index.device()),
                  dtype);
  });
}

}  // namespace sluice
