// The gradients of what takes matrices apart. A matrix of which one triangle is read stands for a
// symmetric one, and so does its gradient.
//
// Formulas: M. Giles, "An extended collection of matrix derivative results for forward and reverse
// mode algorithmic differentiation", 2008 (solve, inv, det, singular values); I. Murray,
// "Differentiation of the Cholesky decomposition", 2016; S. F. Walter and L. Lehmann, "Algorithmic
// differentiation of linear algebra functions with application in optimum experimental design",
// 2010 (qr, eigh); D. A. O. Roberts and L. R. Roberts, "QR and LQ decomposition matrix
// backpropagation algorithms for square, wide, and deep matrices", 2020; J. Townsend,
// "Differentiating the singular value decomposition", 2016.
#include <algorithm>
#include <utility>
#include <vector>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/autograd/rules.h"
#include "frontend/dims.h"
#include "frontend/linalg/factor.h"
#include "frontend/record.h"

namespace sluice::frontend {
namespace {

using fusion::Op;

Tensor mt(const Tensor& x) { return swapaxes(x, -1, -2); }
Tensor diagonal_matrix(const Tensor& values) {
  return expand_dims(values, -1) *
         eye(values.shape(-1), values.shape(-1), values.dtype(), values.device());
}
Tensor symmetric(const Tensor& x) { return (x + mt(x)) * 0.5; }
// x / by, and 0 where that is 0: where values coincide, what they belong to may be chosen freely.
Tensor divided(const Tensor& x, const Tensor& by) {
  const Tensor is_none = by == 0;
  return where(is_none, 0, x / where(is_none, 1, by));
}
// Element (i, j): values j - values i.
Tensor gaps(const Tensor& values) { return expand_dims(values, -2) - expand_dims(values, -1); }
// The triangle, with half of the diagonal.
Tensor lower_half(const Tensor& x) { return (tril(x) + tril(x, -1)) * 0.5; }

// The op's parts among the elements of its flat result.
struct Parts {
  const Tape& tape;
  Dims lead;
  int64_t rows, columns;

  explicit Parts(const Backward& backward) : Parts(backward, backward.operand_shape(0)) {}
  Parts(const Backward& backward, const Shape& shape) : tape(backward.tape) {
    lead.assign(shape.begin(), shape.end() - 2);
    rows = shape[shape.rank() - 2];
    columns = shape[shape.rank() - 1];
  }
  int64_t mode() const { return tape.attrs[0]; }
  int64_t least() const { return std::min(rows, columns); }

  std::vector<Tensor> of(const Tensor& flat, const std::vector<Dims>& dims) const {
    std::vector<Tensor> parts;
    int64_t begin = 0;
    for (const Dims& own : dims) {
      Dims all = lead;
      all.insert(all.end(), own.begin(), own.end());
      const Shape shape = make_shape(kGradients, span_of(all));
      parts.push_back(reshape(slice(flat, 0, begin, begin + shape.numel()), shape));
      begin += shape.numel();
    }
    return parts;
  }
};

// Of the lower factor l: l^-T sym(tril'(l^T g)) l^-1, where tril' halves the diagonal.
Tensor of_cholesky(const Backward& backward, size_t) {
  const Parts parts(backward);
  const std::vector<Dims> dims = {{parts.rows, parts.rows}};
  const bool is_upper = parts.mode() != 0;
  Tensor l = parts.of(backward.result(), dims)[0], g = parts.of(backward.g, dims)[0];
  if (is_upper) l = mt(l), g = mt(g);
  const Tensor middle = symmetric(lower_half(matmul(mt(l), tril(g))));
  const Tensor right = mt(solution_of(kGradients, mt(l), middle));
  return solution_of(kGradients, mt(l), right);
}

// Of x = q r with square r: (g_q + q m) r^-T, where m is triu(g_r r^T - q^T g_q) mirrored.
Tensor of_square_qr(const Tensor& q, const Tensor& r, const Tensor& g_q, const Tensor& g_r) {
  const Tensor both = triu(matmul(g_r, mt(r)) - matmul(mt(q), g_q));
  const Tensor mirrored = both + mt(triu(both, 1));
  return mt(solution_of(kGradients, r, mt(g_q + matmul(q, mirrored))));
}

Tensor of_qr(const Backward& backward, size_t) {
  const Parts parts(backward);
  const bool is_complete = parts.mode() != 0;
  if (is_complete && parts.rows > parts.columns) {
    fail("qr",
         "of mode \"complete\" with more rows than columns has no gradient: the columns of q "
         "that r does not need are arbitrary");
  }
  const int64_t k = parts.least();
  const std::vector<Dims> dims = {{parts.rows, k}, {k, parts.columns}};
  const std::vector<Tensor> y = parts.of(backward.result(), dims), g = parts.of(backward.g, dims);
  if (parts.columns <= parts.rows) return of_square_qr(y[0], y[1], g[0], g[1]);
  // The first columns decide on q; it gives the others.
  const auto first = [&](const Tensor& x) { return slice(x, -1, 0, k); };
  const auto rest = [&](const Tensor& x) { return slice(x, -1, k, parts.columns); };
  const Tensor g_rest = rest(g[1]);
  const Tensor g_q = g[0] + matmul(rest(backward.operand(0)), mt(g_rest));
  return concat({of_square_qr(y[0], first(y[1]), g_q, first(g[1])), matmul(y[0], g_rest)}, -1);
}

Tensor of_svd(const Backward& backward, size_t) {
  const Parts parts(backward);
  const int64_t m = parts.rows, n = parts.columns, k = parts.least();
  if (parts.mode() == 0) {
    const Singular of = singular_of(kGradients, backward.operand(0));
    const Tensor g = parts.of(backward.g, {{k}})[0];
    return matmul(of.u * expand_dims(g, -2), of.vh);
  }
  if (parts.mode() == 2 && m != n) {
    fail("svd",
         "with full matrices, of matrices that are not square, has no gradient: the vectors "
         "without a singular value are arbitrary");
  }
  const std::vector<Dims> dims = {{m, k}, {k}, {k, n}};
  const std::vector<Tensor> y = parts.of(backward.result(), dims), g = parts.of(backward.g, dims);
  const Tensor &u = y[0], &s = y[1], &vh = y[2];
  const Tensor between = gaps(square(s));
  const auto turned = [&](const Tensor& product) {
    return divided(product - mt(product), between);
  };
  const Tensor of_u = matmul(mt(u), g[0]), of_v = matmul(vh, mt(g[2]));
  Tensor middle =
      turned(of_u) * expand_dims(s, -2) + expand_dims(s, -1) * turned(of_v) + diagonal_matrix(g[1]);
  Tensor left = matmul(u, middle);
  // What leaves the space that the vectors span.
  if (m > k) left = left + (g[0] - matmul(u, of_u)) / expand_dims(s, -2);
  Tensor result = matmul(left, vh);
  if (n > k) {
    const Tensor outside = g[2] - matmul(mt(of_v), vh);
    result = result + matmul(u, outside / expand_dims(s, -1));
  }
  return result;
}

Tensor of_eigh(const Backward& backward, size_t) {
  const Parts parts(backward);
  const int64_t n = parts.rows;
  if (parts.mode() == 0) {
    const Tensor g = parts.of(backward.g, {{n}})[0];
    const Tensor rows = factor(kGradients, Op::kEigh, 1, backward.operand(0), {{{n}}, {{n, n}}})[1];
    return matmul(mt(rows) * expand_dims(g, -2), rows);
  }
  const std::vector<Dims> dims = {{n}, {n, n}};
  const std::vector<Tensor> y = parts.of(backward.result(), dims), g = parts.of(backward.g, dims);
  const Tensor& rows = y[1];  // the vectors
  const Tensor turned = divided(matmul(rows, mt(g[1])), gaps(y[0]));
  return symmetric(matmul(matmul(mt(rows), turned + diagonal_matrix(g[0])), rows));
}

Tensor of_solve(const Backward& backward, size_t k) {
  const Tensor a = backward.operand(0);
  const Parts parts(backward, a.shape());
  const int64_t sides = backward.tape.shape.numel() * parts.rows / a.numel();
  const std::vector<Dims> dims = {{parts.rows, sides}};
  Tensor g = solution_of(kGradients, mt(a), parts.of(backward.g, dims)[0]);
  if (k == 1) return g;
  return -matmul(g, mt(parts.of(backward.result(), dims)[0]));
}

Tensor of_inv(const Backward& backward, size_t) {
  const Parts parts(backward);
  const std::vector<Dims> dims = {{parts.rows, parts.rows}};
  const Tensor y = mt(parts.of(backward.result(), dims)[0]);
  return -matmul(matmul(y, parts.of(backward.g, dims)[0]), y);
}

// Of the determinant d: g d x^-T; of its logarithm g x^-T. The sign is a step.
Tensor of_det(const Backward& backward, size_t) {
  const Parts parts(backward);
  const bool is_logarithm = parts.mode() != 0;
  const std::vector<Dims> dims = is_logarithm ? std::vector<Dims>{{}, {}} : std::vector<Dims>{{}};
  Tensor g = parts.of(backward.g, dims).back();
  if (!is_logarithm) g = g * parts.of(backward.result(), dims)[0];
  const Tensor all = expand_dims(expand_dims(g, -1), -1);
  return all * mt(inverse_of(kGradients, backward.operand(0)));
}

}  // namespace

void add_linalg_rules(RuleTable* table) {
  add_rule(table, Op::kCholesky, {true}, {kResult}, of_cholesky);
  add_rule(table, Op::kQr, {true}, {kA | kResult}, of_qr);
  add_rule(table, Op::kSvd, {true}, {kA | kResult}, of_svd);
  add_rule(table, Op::kEigh, {true}, {kA | kResult}, of_eigh);
  add_rule(table, Op::kSolve, {true, true}, {kA | kResult, kA}, of_solve);
  add_rule(table, Op::kInv, {true}, {kResult}, of_inv);
  add_rule(table, Op::kDet, {true}, {kA | kResult}, of_det);
}

}  // namespace sluice::frontend
