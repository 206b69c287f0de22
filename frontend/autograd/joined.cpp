#include "frontend/autograd/joined.h"

#include <algorithm>
#include <utility>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/dims.h"
#include "frontend/record.h"

namespace sluice::frontend {
namespace {

using fusion::Op;

// From so many uses on; what is held for later until then is not fused with what makes it.
constexpr uint32_t kManyUses = 4;
// What repeated a value more often is summed at once: held, it would take more memory.
constexpr int64_t kFewRows = 64;

// `slice` among zeros.
Tensor padded(const SliceGradient& slice, const Shape& shape) {
  std::vector<std::pair<int64_t, int64_t>> widths(shape.rank());
  widths[slice.axis] = {slice.start, shape[slice.axis] - slice.end()};
  return pad(slice.g, widths);
}

// One product of all rows adds up what is otherwise written and added for each: not if the rows are
// larger than that.
bool is_worth_joining(int64_t rows, int64_t depth, int64_t width) {
  return rows * (depth + width) <= depth * width;
}

}  // namespace

std::optional<SliceGradient> gradient_of_slice(const Backward& backward) {
  if (backward.tape.op != Op::kSlice || backward.g.numel() == 0) return std::nullopt;
  const Shape& shape = backward.operand_shape(0);
  std::optional<SliceGradient> slice;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (backward.tape.attrs[2 * axis + 1] != 1) return std::nullopt;
    if (backward.g.shape()[axis] == shape[axis]) continue;
    if (slice) return std::nullopt;
    slice = SliceGradient{axis, backward.tape.attrs[2 * axis], backward.g};
  }
  return slice;
}

Tensor join_slices(std::vector<SliceGradient> slices, const Shape& shape) {
  const int axis = slices[0].axis;
  std::vector<const SliceGradient*> in_order;
  bool is_along_one = true;
  for (const SliceGradient& slice : slices) {
    in_order.push_back(&slice);
    is_along_one &= slice.axis == axis;
  }
  std::sort(in_order.begin(), in_order.end(),
            [](const SliceGradient* a, const SliceGradient* b) { return a->start < b->start; });
  const bool is_disjoint = std::adjacent_find(in_order.begin(), in_order.end(),
                                              [](const SliceGradient* a, const SliceGradient* b) {
                                                return a->end() > b->start;
                                              }) == in_order.end();
  if (slices.size() == 1 || !is_along_one || !is_disjoint) {
    Tensor total = padded(slices[0], shape);
    for (size_t i = 1; i < slices.size(); ++i) total = std::move(total) + padded(slices[i], shape);
    return total;
  }
  std::vector<Tensor> parts;
  int64_t end = 0;
  const auto fill_until = [&](int64_t start) {
    if (start == end) return;
    Dims dims(shape.begin(), shape.end());
    dims[axis] = start - end;
    const Tensor& g = slices[0].g;
    parts.push_back(zeros(make_shape(kGradients, span_of(dims)), g.dtype(), g.device()));
  };
  for (const SliceGradient* slice : in_order) {
    fill_until(slice->start);
    parts.push_back(slice->g);
    end = slice->end();
  }
  fill_until(shape[axis]);
  return concat(parts, axis);
}

JoinedGradients::Parts& JoinedGradients::parts() {
  if (parts_ == nullptr) parts_ = std::make_unique<Parts>();
  return *parts_;
}

bool JoinedGradients::take(const Backward& backward, size_t k, uint32_t uses) {
  if (std::optional<SliceGradient> slice = gradient_of_slice(backward)) {
    parts().slices.push_back(*std::move(slice));
    return true;
  }
  const Tensor& g = backward.g;
  if (uses < kManyUses) return false;
  if (backward.tape.op != Op::kMatmul || k == 0 || g.ndim() != 2) return false;
  const Shape& shape = backward.operand_shape(k);
  if (!is_worth_joining(g.shape(0), shape[0], shape[1])) return false;
  parts().left.push_back(backward.operand(0));
  parts().right.push_back(g);
  return true;
}

bool JoinedGradients::take_rows(const Tensor& gradient, const Shape& shape, uint32_t uses) {
  if (uses < kManyUses || gradient.ndim() != 2) return false;
  if (shape.rank() != 1 || shape[0] != gradient.shape(1)) return false;
  if (gradient.shape(0) > kFewRows) return false;
  parts().rows.push_back(gradient);
  return true;
}

Tensor JoinedGradients::total(const Shape& shape) && {
  Tensor total;
  const auto add = [&](Tensor gradient) {
    total = total.defined() ? std::move(total) + std::move(gradient) : std::move(gradient);
  };
  const std::unique_ptr<Parts> parts = std::move(parts_);
  if (!parts->slices.empty()) add(join_slices(std::move(parts->slices), shape));
  if (!parts->left.empty()) {
    add(matmul(swapaxes(concat(parts->left, 0), -1, -2), concat(parts->right, 0)));
  }
  if (!parts->rows.empty()) add(sum(concat(parts->rows, 0), 0));
  return total;
}

}  // namespace sluice::frontend
