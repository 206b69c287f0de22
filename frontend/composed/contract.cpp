#include "frontend/composed/contract.h"

#include <algorithm>
#include <numeric>

#include <sluice/ops.h>
#include "frontend/composed/compose.h"
#include "frontend/dims.h"
#include "frontend/record.h"
#include "frontend/reduce.h"

namespace sluice {

using frontend::check_axes;
using frontend::check_axis;
using frontend::composed;
using frontend::contracted;
using frontend::describe;
using frontend::Dims;
using frontend::fail;
using frontend::make_shape;
using frontend::span_of;

namespace frontend {
namespace {

DType product_dtype(const char* op, const Tensor& a, const Tensor& b) {
  common_device(op, a, b);
  const DType dtype = promote(a.dtype(), b.dtype());
  if (dtype == DType::kBool) {
    fail(op, "is not defined for bool: ", describe(a), ", ", describe(b));
  }
  return dtype;
}

bool has(const std::vector<int>& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

std::vector<int> rest_of(const Tensor& x, const std::vector<int>& batch,
                         const std::vector<int>& summed) {
  std::vector<int> rest;
  for (int axis = 0; axis < x.ndim(); ++axis) {
    if (!has(batch, axis) && !has(summed, axis)) rest.push_back(axis);
  }
  return rest;
}

int64_t extent_of(const Tensor& x, const std::vector<int>& axes) {
  int64_t count = 1;
  for (const int axis : axes) count *= x.shape()[axis];
  return count;
}

// x (batch, rows, columns), without the batch if that is none. The lists of axes are all of x's.
Tensor as_matrices(const char* op, const Tensor& x, const std::vector<int>& batch,
                   const std::vector<int>& rows, const std::vector<int>& columns) {
  Dims order;
  for (const std::vector<int>* axes : {&batch, &rows, &columns}) {
    order.insert(order.end(), axes->begin(), axes->end());
  }
  Dims dims;
  if (!batch.empty()) dims.push_back(extent_of(x, batch));
  dims.push_back(extent_of(x, rows));
  dims.push_back(extent_of(x, columns));
  // Columns before rows in memory: a transposed matrix, which libraries read as it is.
  Dims turned(batch.begin(), batch.end());
  turned.insert(turned.end(), columns.begin(), columns.end());
  turned.insert(turned.end(), rows.begin(), rows.end());
  if (std::is_sorted(turned.begin(), turned.end()) && !std::is_sorted(order.begin(), order.end())) {
    std::swap(dims[dims.size() - 2], dims[dims.size() - 1]);
    return swapaxes(reshape(x, make_shape(op, span_of(dims), x)), -2, -1);
  }
  const Tensor ordered = std::is_sorted(order.begin(), order.end()) ? x : permuted(op, x, order);
  const Shape shape = make_shape(op, span_of(dims), x);
  return ordered.shape() == shape ? ordered : reshape(ordered, shape);
}

}  // namespace

Tensor sum_of_products(const char* op, const Tensor& a, const Tensor& b) {
  const DType dtype = product_dtype(op, a, b);
  const DType computed = compute_type(dtype);
  const Tensor products = astype(a, computed) * astype(b, computed);
  return astype(reduce(op, fusion::Op::kSum, products, {products.ndim() - 1}, false, computed),
                dtype);
}

Tensor contracted(const char* op, const Tensor& a, const Tensor& b, const Contraction& axes) {
  product_dtype(op, a, b);
  const std::vector<int> rows = rest_of(a, axes.batch_a, axes.summed_a);
  const std::vector<int> columns = rest_of(b, axes.batch_b, axes.summed_b);
  const Tensor left = as_matrices(op, a, axes.batch_a, rows, axes.summed_a);
  Dims dims;
  for (const int axis : axes.batch_a) dims.push_back(a.shape()[axis]);
  for (const int axis : rows) dims.push_back(a.shape()[axis]);
  for (const int axis : columns) dims.push_back(b.shape()[axis]);
  if (dims.size() > kMaxRank) {
    fail(op, "the result of ", describe(a), " and ", describe(b), " would have more than ",
         kMaxRank, " dimensions");
  }
  const Shape shape = make_shape(op, span_of(dims), a);
  if (left.shape(-2) == 1 && extent_of(b, columns) == 1) {
    const Tensor right = as_matrices(op, b, axes.batch_b, columns, axes.summed_b);
    return reshape(sum_of_products(op, left, right), shape);
  }
  const Tensor right = as_matrices(op, b, axes.batch_b, axes.summed_b, columns);
  Tensor result = matmul(left, right);
  return result.shape() == shape ? result : reshape(std::move(result), shape);
}

}  // namespace frontend

namespace {

// Throws unless these axes, from the front, are of equal extents.
void check_paired(const char* op, const Tensor& a, int axis_a, const Tensor& b, int axis_b) {
  if (a.shape()[axis_a] == b.shape()[axis_b]) return;
  fail(op, "axis ", axis_a, " of ", describe(a), " and axis ", axis_b, " of ", describe(b),
       " differ");
}

Tensor over_one_axis(const char* op, const Tensor& a, const Tensor& b, int axis_b) {
  const int in_a = a.ndim() - 1, in_b = b.ndim() + axis_b;
  check_paired(op, a, in_a, b, in_b);
  return contracted(op, a, b, {.summed_a = {in_a}, .summed_b = {in_b}});
}

}  // namespace

Tensor tensordot(Arg a, Arg b, const Axes& a_axes, const Axes& b_axes) {
  constexpr const char* kOp = "tensordot";
  return composed(a, b, kOp, [&](const Tensor& x, const Tensor& y) {
    if (a_axes.span().size() != b_axes.span().size()) {
      fail(kOp, a_axes.span().size(), " axes of ", describe(x), " and ", b_axes.span().size(),
           " of ", describe(y));
    }
    if (!a_axes.empty()) {
      check_axes(kOp, a_axes, x);
      check_axes(kOp, b_axes, y);
    }
    // In the order of x's, which then has to be turned the less.
    std::vector<std::pair<int, int>> pairs;
    for (size_t i = 0; i < a_axes.span().size(); ++i) {
      pairs.emplace_back(check_axis(kOp, a_axes.span()[i], x.ndim(), x),
                         check_axis(kOp, b_axes.span()[i], y.ndim(), y));
      check_paired(kOp, x, pairs.back().first, y, pairs.back().second);
    }
    std::sort(pairs.begin(), pairs.end());
    frontend::Contraction axes;
    for (const auto& [in_x, in_y] : pairs) {
      axes.summed_a.push_back(in_x);
      axes.summed_b.push_back(in_y);
    }
    return contracted(kOp, x, y, axes);
  });
}

Tensor tensordot(Arg a, Arg b, int axes) {
  constexpr const char* kOp = "tensordot";
  frontend::node_of(kOp, a.tensor());
  frontend::node_of(kOp, b.tensor());
  if (axes < 0 || axes > std::min(a.tensor().ndim(), b.tensor().ndim())) {
    fail(kOp, axes, " axes of ", describe(a.tensor()), " and ", describe(b.tensor()));
  }
  std::vector<int> last(axes), first(axes);
  std::iota(last.begin(), last.end(), -axes);
  std::iota(first.begin(), first.end(), 0);
  return tensordot(a, b, last, first);
}

Tensor vecdot(Arg a, Arg b, int axis) {
  constexpr const char* kOp = "vecdot";
  return composed(a, b, kOp, [&](const Tensor& x, const Tensor& y) {
    const int in_x = check_axis(kOp, axis, x.ndim(), x);
    const int in_y = check_axis(kOp, axis, y.ndim(), y);
    check_paired(kOp, x, in_x, y, in_y);
    return frontend::sum_of_products(kOp, moveaxis(x, in_x, -1), moveaxis(y, in_y, -1));
  });
}

Tensor dot(Arg a, Arg b) {
  return composed(a, b, "dot", [](const Tensor& x, const Tensor& y) {
    if (x.ndim() == 0 || y.ndim() == 0) return x * y;
    return over_one_axis("dot", x, y, y.ndim() == 1 ? -1 : -2);
  });
}

Tensor inner(Arg a, Arg b) {
  return composed(a, b, "inner", [](const Tensor& x, const Tensor& y) {
    if (x.ndim() == 0 || y.ndim() == 0) return x * y;
    return over_one_axis("inner", x, y, -1);
  });
}

Tensor outer(Arg a, Arg b) {
  return composed(a, b, "outer", [](const Tensor& x, const Tensor& y) {
    return reshape(x, Shape{x.numel(), 1}) * reshape(y, Shape{y.numel()});
  });
}

Tensor kron(Arg a, Arg b) {
  constexpr const char* kOp = "kron";
  return composed(a, b, kOp, [&](const Tensor& x, const Tensor& y) {
    const int rank = std::max(x.ndim(), y.ndim());
    auto extent = [&](const Tensor& tensor, int axis) {
      const int own = axis - (rank - tensor.ndim());
      return own < 0 ? 1 : tensor.shape()[own];
    };
    // An axis of x and one of y become an axis of the result; what both have one of needs none.
    Dims of_x, of_y, merged;
    for (int axis = 0; axis < rank; ++axis) {
      const int64_t count_x = extent(x, axis), count_y = extent(y, axis);
      merged.push_back(count_x * count_y);
      if (count_x != 1) of_x.push_back(count_x), of_y.push_back(1);
      if (count_y != 1) of_x.push_back(1), of_y.push_back(count_y);
    }
    frontend::check_rank(kOp, of_x.size(), x);
    const Tensor products = reshape(x, make_shape(kOp, span_of(of_x), x)) *
                            reshape(y, make_shape(kOp, span_of(of_y), y));
    return reshape(products, make_shape(kOp, span_of(merged), x));
  });
}

}  // namespace sluice
