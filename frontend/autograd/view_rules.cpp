// The gradients of views, and of ops that lay tensors together: each puts elements back where they
// came from.
#include <algorithm>
#include <utility>
#include <vector>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/autograd/rules.h"
#include "frontend/dims.h"
#include "frontend/record.h"

namespace sluice::frontend {
namespace {

using fusion::Op;

Tensor of_reshape(const Backward& backward, size_t) {
  return reshaped(kGradients, backward.g, backward.operand_shape(0));
}

Tensor of_permute(const Backward& backward, size_t) {
  Dims back(backward.tape.attrs.size());
  for (size_t i = 0; i < back.size(); ++i) {
    back[backward.tape.attrs[i]] = static_cast<int64_t>(i);
  }
  return permuted(kGradients, backward.g, back);
}

// Whoever asked sums over what was repeated.
Tensor of_broadcast(const Backward& backward, size_t) { return backward.g; }

// `count` elements of g along `axis`, at start, start + step, ... of an axis of this extent.
Tensor put_back(const Tensor& g, int axis, int64_t start, int64_t step, int64_t extent) {
  const int64_t count = g.shape()[axis];
  if (count == 0 || extent == count) return step == -1 ? flip(g, axis) : g;
  if (step < 0) return put_back(flip(g, axis), axis, start + (count - 1) * step, -step, extent);
  // As (outer, elements, inner), with zeros between the elements.
  const Shape& shape = g.shape();
  int64_t outer = 1;
  for (int k = 0; k < axis; ++k) outer *= shape[k];
  const int64_t inner = g.numel() / (outer * count);
  Tensor all = reshaped(kGradients, g, Shape{outer, count, inner});
  int64_t reach = count;  // elements, with the zeros behind the last one that fit in
  if (step > 1) {
    all = pad(reshape(std::move(all), Shape{outer, count, 1, inner}),
              {{0, 0}, {0, 0}, {0, step - 1}, {0, 0}});
    reach = std::min(count * step, extent - start);
    all = slice(reshape(std::move(all), Shape{outer, count * step, inner}), 1, 0, reach);
  }
  all = pad(std::move(all), {{0, 0}, {start, extent - start - reach}, {0, 0}});
  Dims dims(shape.begin(), shape.end());
  dims[axis] = extent;
  return reshaped(kGradients, all, make_shape(kGradients, span_of(dims)));
}

Tensor of_slice(const Backward& backward, size_t) {
  const Shape& shape = backward.operand_shape(0);
  if (backward.g.numel() == 0) {
    return zeros(shape, backward.g.dtype(), backward.g.device());
  }
  Tensor g = backward.g;
  // Steps of one that need no more than zeros around them, all at once.
  std::vector<std::pair<int64_t, int64_t>> widths(shape.rank());
  bool is_padded = false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t start = backward.tape.attrs[2 * axis];
    const int64_t step = backward.tape.attrs[2 * axis + 1];
    const int64_t count = g.shape()[axis];
    if (step == 1) {
      widths[axis] = {start, shape[axis] - start - count};
      is_padded |= count != shape[axis];
    } else {
      g = put_back(g, axis, start, step, shape[axis]);
    }
  }
  return is_padded ? pad(std::move(g), widths) : g;
}

Tensor of_pad(const Backward& backward, size_t) {
  const Shape& shape = backward.operand_shape(0);
  Tensor g = backward.g;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t before = backward.tape.attrs[axis];
    if (g.shape()[axis] == shape[axis]) continue;
    g = slice(std::move(g), axis, before, before + shape[axis]);
  }
  return g;
}

Tensor of_concat(const Backward& backward, size_t k) {
  int64_t start = 0;
  for (size_t i = 0; i < k; ++i) start += static_cast<int64_t>(backward.tape.operands[i].scalar);
  const auto extent = static_cast<int64_t>(backward.tape.operands[k].scalar);
  return slice(backward.g, backward.axis(), start, start + extent);
}

Tensor of_roll(const Backward& backward, size_t) {
  return roll(backward.g, -backward.tape.attrs[1], backward.axis());
}

}  // namespace

Tensor sum_to(const Tensor& g, const Shape& shape) {
  if (g.shape() == shape) return g;
  const int lead = g.ndim() - shape.rank();
  std::vector<int> axes;
  for (int k = 0; k < g.ndim(); ++k) {
    if (g.shape()[k] != 1 && (k < lead || shape[k - lead] == 1)) axes.push_back(k);
  }
  // Without a view, if it can be: what follows a sum is computed as its kernel ends.
  const bool keeps_axes = !axes.empty() && axes.back() >= lead;
  const Tensor total = axes.empty() ? g : sum(g, axes, keeps_axes);
  return total.shape() == shape ? total : reshape(total, shape);
}

Tensor spread(const Tensor& g, absl::Span<const int64_t> axes, const Shape& shape) {
  Dims dims(shape.begin(), shape.end());
  for (const int64_t axis : axes) dims[axis] = 1;
  return broadcast_to(reshaped(kGradients, g, make_shape(kGradients, span_of(dims))), shape);
}

void add_view_rules(RuleTable* table) {
  add_rule(table, Op::kReshape, {true}, {}, of_reshape);
  add_rule(table, Op::kPermute, {true}, {}, of_permute);
  add_rule(table, Op::kBroadcast, {true}, {}, of_broadcast);
  add_rule(table, Op::kSlice, {true}, {}, of_slice);
  add_rule(table, Op::kPad, {true}, {}, of_pad);
  add_rule(table, Op::kConcat, {true, true, true}, {}, of_concat);
  add_rule(table, Op::kRoll, {true}, {}, of_roll);
}

}  // namespace sluice::frontend
