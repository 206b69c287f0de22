// The gradients of what picks elements by comparing them: sorts, running extrema, scatters of
// extrema. Each result's gradient goes to the element that it is equal to.
#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/autograd/rules.h"
#include "frontend/indexing/scatter.h"
#include "frontend/record.h"

namespace sluice::frontend {
namespace {

using fusion::Op;

Tensor of_sort(const Backward& backward, size_t) {
  const int axis = backward.axis();
  const Tensor order = argsort(backward.operand(0), axis, backward.tape.attrs[1] != 0);
  return take_along_axis(backward.g, argsort(order, axis), axis);
}

// Of equal elements the last one before the result is it.
Tensor of_running_extremum(const Backward& backward, size_t) {
  const int axis = backward.axis();
  const Tensor x = backward.operand(0);
  const Tensor place = coordinate(kGradients, x.shape(), axis, x.device());
  const Tensor is_it = (x == backward.result()) | isnan(x);
  const Tensor from = cummax(where(is_it, place, 0), axis);
  return scatter_add(zeros_like(backward.g), from, backward.g, axis);
}

// Elements and updates that equal the extremum have the same share.
Tensor of_scattered_extremum(const Backward& backward, size_t k) {
  const Tensor& g = backward.g;
  const Tensor positions = backward.indices();
  const Tensor result = backward.result();
  const auto is_it = [&](size_t operand, const Tensor& y) {
    return backward.operand(operand) == y;
  };
  const Tensor of_x = is_it(0, result), of_updates = is_it(2, take(result, positions, 0));
  const Tensor count = scattered({kGradients, Op::kScatterAdd}, astype(of_x, g.dtype()), positions,
                                 astype(of_updates, g.dtype()));
  const Tensor share = g / count;
  return k == 0 ? where(of_x, share, 0) : where(of_updates, take(share, positions, 0), 0);
}

}  // namespace

void add_order_rules(RuleTable* table) {
  add_rule(table, Op::kSort, {true}, {kA}, of_sort);
  for (const Op op : {Op::kCummax, Op::kCummin}) {
    add_rule(table, op, {true}, {kA | kResult}, of_running_extremum);
  }
  constexpr uint8_t kAll = kA | kB | kC | kResult;
  for (const Op op : {Op::kScatterMax, Op::kScatterMin}) {
    add_rule(table, op, {true, false, true}, {kAll, kNothing, kAll}, of_scattered_extremum);
  }
}

}  // namespace sluice::frontend
