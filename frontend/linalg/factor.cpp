#include "frontend/linalg/factor.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/record.h"
#include "frontend/reduce.h"

namespace sluice::frontend {
namespace {

Tensor batch_in_a_row(const char* name, const Tensor& x, int64_t count) {
  // A view of its own would tell equal calls apart.
  if (x.ndim() <= 3) return x;
  const int64_t dims[] = {count, x.shape(-2), x.shape(-1)};
  return reshaped(name, x, make_shape(name, dims, x));
}

// Of matrices without elements: of an orthonormal factor the identity, and the determinant is 1.
Tensor part_of_none(const FactorPart& part, const Shape& shape, const Tensor& x) {
  if (part.dims.rank() == 2 && part.of_none != 0) {
    return broadcast_to(eye(part.dims[0], part.dims[1], x.dtype(), x.device()), shape);
  }
  return full(shape, part.of_none, x.dtype(), x.device());
}

}  // namespace

Tensor as_matrices(const char* op, const Tensor& x) {
  if (x.ndim() < 2) fail(op, "needs matrices, not ", describe(x));
  return astype(x, statistic_dtype(x.dtype()));
}

void check_square(const char* op, const Tensor& x) {
  if (x.ndim() < 2 || x.shape(-2) != x.shape(-1)) {
    fail(op, "needs square matrices, not ", describe(x));
  }
}

Tensor as_square_matrices(const char* op, const Tensor& x) {
  check_square(op, x);
  return as_matrices(op, x);
}

Dims batch_of(const Tensor& x) { return Dims(x.shape().begin(), x.shape().end() - 2); }

Dims with_dims(Dims lead, std::initializer_list<int64_t> last) {
  lead.insert(lead.end(), last.begin(), last.end());
  return lead;
}

std::vector<Tensor> factor(const char* name, fusion::Op op, int64_t mode, const Tensor& x,
                           const std::vector<FactorPart>& parts, const std::optional<Tensor>& y) {
  const Dims lead = batch_of(x);
  const int64_t count =
      std::accumulate(lead.begin(), lead.end(), int64_t{1}, std::multiplies<int64_t>());
  std::vector<Shape> shapes;
  int64_t total = 0;
  for (const FactorPart& part : parts) {
    Dims dims = lead;
    dims.insert(dims.end(), part.dims.begin(), part.dims.end());
    shapes.push_back(make_shape(name, span_of(dims), x));
    total += shapes.back().numel();
  }
  std::vector<Tensor> results;
  if (x.numel() == 0 || total == 0) {
    for (size_t k = 0; k < parts.size(); ++k) {
      results.push_back(part_of_none(parts[k], shapes[k], x));
    }
    return results;
  }
  const Tensor matrices = batch_in_a_row(name, x, count);
  const Tensor sides = y ? batch_in_a_row(name, *y, count) : Tensor();
  const engine::NodeOperand operands[] = {{matrices.node_ref().get()},
                                          {y ? sides.node_ref().get() : nullptr}};
  const Tensor all = record({.caller = {.name = name},
                             .op = op,
                             .dtype = x.dtype(),
                             .operand_dtype = x.dtype(),
                             .device = x.device(),
                             .shape = Shape{total},
                             .operands = {operands, y ? size_t{2} : size_t{1}},
                             .attrs = {&mode, 1}});
  int64_t begin = 0;
  for (const Shape& shape : shapes) {
    const int64_t end = begin + shape.numel();
    results.push_back(reshaped(name, slice(all, 0, begin, end), shape));
    begin = end;
  }
  return results;
}

Tensor inverse_of(const char* name, const Tensor& x, bool or_nan) {
  const int64_t n = x.shape(-1);
  return factor(name, fusion::Op::kInv, or_nan ? 1 : 0, x, {{{n, n}}})[0];
}

Tensor solution_of(const char* name, const Tensor& a, const Tensor& b) {
  return factor(name, fusion::Op::kSolve, 0, a, {{{b.shape(-2), b.shape(-1)}}}, b)[0];
}

Singular singular_of(const char* name, const Tensor& x) {
  const int64_t m = x.shape(-2), n = x.shape(-1), k = std::min(m, n);
  std::vector<Tensor> parts =
      factor(name, fusion::Op::kSvd, 1, x, {{{m, k}, 1}, {{k}}, {{k, n}, 1}});
  return {std::move(parts[0]), std::move(parts[1]), std::move(parts[2])};
}

Tensor singular_values_of(const char* name, const Tensor& x) {
  return factor(name, fusion::Op::kSvd, 0, x, {{{std::min(x.shape(-2), x.shape(-1))}}})[0];
}

}  // namespace sluice::frontend
