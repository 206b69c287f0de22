// The gradients of reductions, scans, products of matrices, gathers and scatters.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <sluice/autograd.h>
#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/autograd/rules.h"
#include "frontend/dims.h"
#include "frontend/indexing/scatter.h"
#include "frontend/record.h"
#include "frontend/reduce.h"

namespace sluice::frontend {
namespace {

using fusion::Op;

std::vector<int> axes_of(const Tape& tape) { return {tape.attrs.begin(), tape.attrs.end()}; }

Tensor of_sum(const Backward& backward, size_t) {
  return spread(backward.g, backward.tape.attrs, backward.operand_shape(0));
}

// Each of the elements that equal the extremum has the same share.
Tensor of_extremum(const Backward& backward, size_t) {
  const Tape& tape = backward.tape;
  const DType dtype = compute_type(tape.dtype);
  const Tensor x = backward.operand(0);
  const Tensor is_it = x == spread(backward.result(), tape.attrs, x.shape());
  const Tensor count =
      reduce(kGradients, Op::kSum, astype(is_it, dtype), axes_of(tape), true, dtype);
  const Tensor g = spread(astype(backward.g, dtype), tape.attrs, x.shape());
  return where(is_it, g / count, 0);
}

// The gradient of f(x), which computes what the op does of ops that have gradients.
template <typename F>
Tensor through(const Backward& backward, F f) {
  const DType dtype = compute_type(backward.tape.dtype);
  const Tensor x = astype(backward.operand(0), dtype);
  const GradOptions options{.seed = astype(backward.g, dtype), .create_graph = grad_mode.is_on};
  const Tensor input = detail::as_input(x);
  const GradModeScope gradients_too(true);
  return gradients(f(input), {input}, options)[0];
}

// As a tree of products, whose gradient no zero among the elements disturbs.
Tensor of_prod(const Backward& backward, size_t) {
  const Tape& tape = backward.tape;
  return through(backward, [&](const Tensor& x) {
    std::vector<int> order;
    for (int k = 0; k < x.ndim(); ++k) {
      if (std::find(tape.attrs.begin(), tape.attrs.end(), k) == tape.attrs.end()) {
        order.push_back(k);
      }
    }
    const int64_t rows = tape.shape.numel();
    const int64_t count = rows == 0 ? 0 : x.numel() / rows;
    order.insert(order.end(), tape.attrs.begin(), tape.attrs.end());
    Tensor products = reshape(permute(x, order), Shape{rows, count});
    if (count == 0) return reshape(sum(products, 1) + 1, tape.shape);
    while (products.shape(1) > 1) {
      const int64_t half = (products.shape(1) + 1) / 2;
      Tensor right = slice(products, 1, half, products.shape(1));
      right = pad(right, {{0, 0}, {0, half - right.shape(1)}}, 1);
      products = slice(products, 1, 0, half) * right;
    }
    return reshape(products, tape.shape);
  });
}

Tensor of_cumsum(const Backward& backward, size_t) {
  const int axis = backward.axis();
  return flip(cumsum(flip(backward.g, axis), axis), axis);
}

// By products of twice as many elements at each step.
Tensor of_cumprod(const Backward& backward, size_t) {
  const int axis = backward.axis();
  return through(backward, [&](const Tensor& x) {
    Tensor products = x;
    const int64_t extent = x.shape(axis);
    for (int64_t reach = 1; reach < extent; reach *= 2) {
      const Tensor before = slice(products, axis, 0, extent - reach);
      const Tensor own = slice(products, axis, reach, extent);
      products = concat({slice(products, axis, 0, reach), before * own}, axis);
    }
    return products;
  });
}

// exp(x - y) times the sum of what g / exp(y) is from here on, without overflow: the positive and
// the negative g apart.
Tensor of_logcumsumexp(const Backward& backward, size_t) {
  const int axis = backward.axis();
  const Tensor x = backward.operand(0), y = backward.result();
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  const auto share = [&](const Tensor& g) {
    const Tensor size = where((g > 0) & (y > kNone), log(where(g > 0, g, 1)) - y, kNone);
    return exp(x + flip(logcumsumexp(flip(size, axis), axis), axis));
  };
  return share(backward.g) - share(-backward.g);
}

Tensor of_matmul(const Backward& backward, size_t k) {
  if (k == 0) return matmul(backward.g, swapaxes(backward.operand(1), -1, -2));
  return matmul(swapaxes(backward.operand(0), -1, -2), backward.g);
}

// attrs: axis. Beside it the operand may have been broadcast to the result's extents.
Tensor of_gather(const Backward& backward, size_t) {
  const int axis = backward.axis();
  const Tensor& g = backward.g;
  const int64_t extent = backward.operand_shape(0)[axis];
  const Tensor indices = backward.indices();
  if (g.shape()[axis] == 1) {
    // One element of each row: the others of its row have gradient 0, and nothing is added up.
    Dims along(g.ndim(), 1);
    along[axis] = extent;
    const Tensor place =
        coordinate(kGradients, make_shape(kGradients, span_of(along)), axis, g.device());
    return where((place == indices) | (place == indices + extent), g, 0);
  }
  Dims dims(g.shape().begin(), g.shape().end());
  dims[axis] = extent;
  const Tensor zero = zeros(make_shape(kGradients, span_of(Dims(g.ndim(), 1))),
                            compute_type(g.dtype()), g.device());
  const Tensor none = broadcast_to(zero, make_shape(kGradients, span_of(dims)));
  return scatter_add(none, indices, g, axis);
}

Tensor of_scatter_add(const Backward& backward, size_t k) {
  return k == 0 ? backward.g : take(backward.g, backward.indices(), 0);
}

// Of rows for the same position the last has the gradient.
Tensor of_scatter_set(const Backward& backward, size_t k) {
  const Tensor& g = backward.g;
  const Tensor positions = backward.indices();
  const int64_t count = positions.numel();
  const Assignment set{kGradients, Op::kScatterSet};
  if (k == 0) {
    return scattered(set, g, positions, zeros({count, g.shape(1)}, g.dtype(), g.device()));
  }
  const Tensor rows = coordinate(kGradients, Shape{count, 1}, 0, g.device());
  const Tensor last =
      scattered(set, zeros({g.shape(0), 1}, DType::kInt64, g.device()), positions, rows);
  return where(take(last, positions, 0) == rows, take(g, positions, 0), 0);
}

}  // namespace

void add_reduction_rules(RuleTable* table) {
  add_rule(table, Op::kSum, {true}, {}, of_sum);
  add_rule(table, Op::kProd, {true}, {kA}, of_prod);
  add_rule(table, Op::kMax, {true}, {kA | kResult}, of_extremum);
  add_rule(table, Op::kMin, {true}, {kA | kResult}, of_extremum);
  add_rule(table, Op::kCumsum, {true}, {}, of_cumsum);
  add_rule(table, Op::kCumprod, {true}, {kA}, of_cumprod);
  add_rule(table, Op::kLogcumsumexp, {true}, {kA | kResult}, of_logcumsumexp);
  add_rule(table, Op::kMatmul, {true, true}, {kB, kA}, of_matmul);
  add_rule(table, Op::kTakeAlongAxis, {true}, {kB}, of_gather);
  add_rule(table, Op::kScatterAdd, {true, false, true}, {kNothing, kNothing, kB}, of_scatter_add);
  add_rule(table, Op::kScatterSet, {true, false, true}, {kB, kNothing, kB}, of_scatter_set);
}

}  // namespace sluice::frontend
