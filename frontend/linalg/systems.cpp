// Systems of equations, and what tells whether they can be solved.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <sluice/dtype_info.h>
#include <sluice/linalg.h>
#include "frontend/composed/compose.h"
#include "frontend/linalg/factor.h"
#include "frontend/record.h"
#include "frontend/reduce.h"

namespace sluice::linalg {

using frontend::composed;
using frontend::describe;
using frontend::Dims;
using frontend::factor;
using frontend::fail;
using frontend::make_shape;
using frontend::span_of;
using frontend::with_dims;
using fusion::Op;

namespace {

// Both operands of a system a x = b, in the dtype that it is solved in: b (.., m, k).
struct System {
  Tensor a, b;
  DType dtype;     // of the result
  bool is_vector;  // b was one
};

System make_system(const char* op, const Tensor& a, const Tensor& b) {
  frontend::common_device(op, a, b);
  const DType dtype = float_type(promote(a.dtype(), b.dtype()));
  const bool is_vector = b.ndim() == 1;
  if (a.ndim() < 2 || b.ndim() == 0) {
    fail(op, "needs matrices and right-hand sides, not ", describe(a), " and ", describe(b));
  }
  if (b.shape(is_vector ? -1 : -2) != a.shape(-2)) {
    fail(op, describe(a), " and ", describe(b), " differ in their rows");
  }
  const Tensor sides = is_vector ? expand_dims(b, -1) : b;
  const DType computed = compute_type(dtype);
  return {astype(a, computed), astype(sides, computed), dtype, is_vector};
}

// x over the batch that both have.
Tensor over(const char* op, const Tensor& x, const Shape& batch) {
  const Dims dims(batch.begin(), batch.end());
  return broadcast_to(x, make_shape(op, span_of(with_dims(dims, {x.shape(-2), x.shape(-1)})), x));
}

Tensor solved(const char* op, const Tensor& a, const Tensor& b) {
  const Dims batch_a = frontend::batch_of(a), batch_b = frontend::batch_of(b);
  const int64_t n = a.shape(-1);
  if (batch_a.empty() && !batch_b.empty()) {
    // One matrix for all: the sides of all beside one another.
    const Tensor sides = moveaxis(b, -2, 0);
    const Tensor x = frontend::solution_of(
        op, a,
        reshape(sides, make_shape(op, span_of({n, b.numel() / std::max<int64_t>(n, 1)}), b)));
    return moveaxis(reshape(x, sides.shape()), 0, -2);
  }
  const std::optional<Shape> batch =
      frontend::broadcast_shapes(Shape(span_of(batch_a)), Shape(span_of(batch_b)));
  if (!batch) {
    fail(op, "the batches of ", describe(a), " and ", describe(b), " do not broadcast");
  }
  return frontend::solution_of(op, over(op, a, *batch), over(op, b, *batch));
}

// Whether each singular value counts: those above the greatest's share.
Tensor above(const Tensor& s, const Tensor& x, DType dtype, std::optional<double> rtol) {
  const double share =
      rtol ? *rtol : static_cast<double>(std::max(x.shape(-2), x.shape(-1))) * finfo(dtype).eps;
  if (s.shape(-1) == 0) return s > 0;
  return s > max(s, {-1}, true) * share;
}

// 1 / s of the values that count, 0 of the others; of (.., k).
Tensor reciprocals(const Tensor& s, const Tensor& counts) {
  return where(counts, reciprocal(where(counts, s, 1)), 0);
}

std::vector<Tensor> determinant(const char* op, const Tensor& x, int64_t mode) {
  const Tensor matrices = frontend::as_square_matrices(op, x);
  std::vector<frontend::FactorPart> parts = {{{}, 1}};
  if (mode == 1) parts.push_back({{}, 0});
  std::vector<Tensor> results = factor(op, Op::kDet, mode, matrices, parts);
  for (Tensor& result : results) result = astype(std::move(result), float_type(x.dtype()));
  return results;
}

}  // namespace

Tensor solve(Arg a, Arg b) {
  return composed(a, b, "solve", [](const Tensor& matrices, const Tensor& sides) {
    frontend::check_square("solve", matrices);
    const System system = make_system("solve", matrices, sides);
    const Tensor x = solved("solve", system.a, system.b);
    return astype(system.is_vector ? squeeze(x, -1) : x, system.dtype);
  });
}

LstsqResult lstsq(Arg a, Arg b, std::optional<double> rtol) {
  return composed(a, b, "lstsq", [&](const Tensor& matrices, const Tensor& sides) -> LstsqResult {
    const System system = make_system("lstsq", matrices, sides);
    const auto [u, s, vh] = frontend::singular_of("lstsq", system.a);
    const Tensor counts = above(s, system.a, system.dtype, rtol);
    const Tensor inverses = expand_dims(reciprocals(s, counts), -1);
    const Tensor x = matmul(matrix_transpose(vh), inverses * matmul(matrix_transpose(u), system.b));
    const Tensor error = system.b - matmul(system.a, x);
    const Tensor residuals = sum(square(error), {-2});
    return {astype(system.is_vector ? squeeze(x, -1) : x, system.dtype),
            astype(system.is_vector ? squeeze(residuals, -1) : residuals, system.dtype),
            sum(counts, {-1}), astype(s, system.dtype)};
  });
}

Tensor inv(Arg x) {
  return composed(x, "inv", [](const Tensor& tensor) {
    return astype(frontend::inverse_of("inv", frontend::as_square_matrices("inv", tensor)),
                  float_type(tensor.dtype()));
  });
}

Tensor pinv(Arg x, std::optional<double> rtol) {
  return composed(x, "pinv", [&](const Tensor& tensor) {
    const DType dtype = float_type(tensor.dtype());
    const auto [u, s, vh] = frontend::singular_of("pinv", frontend::as_matrices("pinv", tensor));
    const Tensor inverses = reciprocals(s, above(s, tensor, dtype, rtol));
    return astype(matmul(matrix_transpose(vh) * expand_dims(inverses, -2), matrix_transpose(u)),
                  dtype);
  });
}

Tensor det(Arg x) {
  return composed(x, "det", [](const Tensor& tensor) { return determinant("det", tensor, 0)[0]; });
}

SlogdetResult slogdet(Arg x) {
  return composed(x, "slogdet", [](const Tensor& tensor) -> SlogdetResult {
    std::vector<Tensor> parts = determinant("slogdet", tensor, 1);
    return {std::move(parts[0]), std::move(parts[1])};
  });
}

Tensor matrix_rank(Arg x, std::optional<double> rtol) {
  return composed(x, "matrix_rank", [&](const Tensor& tensor) {
    const Tensor s =
        frontend::singular_values_of("matrix_rank", frontend::as_matrices("matrix_rank", tensor));
    return sum(above(s, tensor, float_type(tensor.dtype()), rtol), {-1});
  });
}

}  // namespace sluice::linalg
