// x(i, j, ...): views for integers and slices, a gather for index tensors.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <sluice/ops.h>
#include "engine/observe/call_site.h"
#include "frontend/indexing/select.h"
#include "frontend/record.h"

namespace sluice {

using frontend::Dims;
using frontend::make_shape;
using frontend::SelectedAxis;
using frontend::Selection;
using frontend::span_of;
using fusion::Op;
using Kind = SelectedAxis::Kind;

Index::Index(const Tensor& tensor, std::source_location where)
    : kind_(Kind::kTensor), tensor_(tensor.node_ref()), where_(where) {
  frontend::node_of("index", tensor);
}
Index::Index(const std::vector<int64_t>& positions, std::source_location where)
    : Index(Tensor::from(positions), where) {}

namespace {

constexpr const char* kOp = "index";

Tensor reshaped(const Tensor& x, const Dims& dims) {
  const Shape shape = make_shape(kOp, span_of(dims), x);
  return shape == x.shape() ? x : frontend::reshaped(kOp, x, shape);
}

// The ranges and integers: an axis for each axis of x, of extent 1 for integers.
Tensor sliced(const Tensor& x, const Selection& selection) {
  Dims dims, attrs;
  bool is_all = true;
  for (const SelectedAxis& axis : selection.axes) {
    if (axis.kind == Kind::kNew) continue;
    const bool is_tensor = axis.kind == Kind::kTensor;
    dims.push_back(is_tensor ? x.shape()[axis.axis] : axis.count);
    attrs.push_back(axis.start);
    attrs.push_back(axis.step);
    is_all = is_all && (is_tensor || axis.is_whole(x));
  }
  if (is_all) return x;
  return frontend::record_view(kOp, Op::kSlice, x, make_shape(kOp, span_of(dims), x), attrs);
}

// The elements of x at the positions of all index tensors at once. The axes of the positions take
// the place of the first of these axes if the others follow it, else they come first; `lead`: how
// many axes come before them.
Tensor gathered(Tensor x, const Selection& selection, int* lead) {
  Dims order, others;  // axes without integers: with index tensors, and the others
  std::vector<const Tensor*> positions;
  Dims kept;
  for (const SelectedAxis& axis : selection.axes) {
    if (axis.kind == Kind::kNew || axis.kind == Kind::kPosition) continue;
    const auto at = static_cast<int64_t>(kept.size());
    if (axis.kind == Kind::kTensor) {
      positions.push_back(&axis.positions);
      order.push_back(at);
    } else {
      others.push_back(at);
    }
    kept.push_back(x.shape()[axis.axis]);
  }
  x = reshaped(x, kept);
  const bool adjoin = order.back() - order.front() == static_cast<int64_t>(order.size()) - 1;
  *lead = adjoin ? static_cast<int>(order.front()) : 0;
  if (!adjoin) {
    order.insert(order.end(), others.begin(), others.end());
    x = frontend::permuted(kOp, x, order);
  }
  if (positions.size() == 1) {
    return take(x, broadcast_to(*positions[0], selection.positions), *lead);
  }
  // One axis of all these; the position on it. Each index is checked against its own axis.
  Tensor position;
  Dims merged = frontend::dims_of(x);
  merged[*lead] = 1;
  for (size_t k = 0; k < positions.size(); ++k) {
    const int axis = *lead + static_cast<int>(k);
    merged[*lead] *= x.shape()[axis];
    position = frontend::with_axis(std::move(position), x.shape()[axis],
                                   frontend::checked_positions(kOp, x, axis, *positions[k]));
  }
  const auto others_begin = merged.begin() + *lead + 1;
  merged.erase(others_begin, others_begin + static_cast<int>(positions.size()) - 1);
  return take(reshaped(x, merged), broadcast_to(position, selection.positions), *lead);
}

}  // namespace

Tensor Tensor::index(std::span<const Index> indices, Location where) const {
  const engine::CallSite site(where, kOp);
  frontend::node_of(kOp, *this);
  const std::optional<Tensor> mask = frontend::only_mask(*this, indices);
  if (mask && mask->ndim() > 1) {
    // Of one axis: there positions need not be taken apart, and put together again.
    Dims merged = frontend::dims_of(*this);
    merged.erase(merged.begin() + 1, merged.begin() + mask->ndim());
    merged[0] = mask->numel();
    const Index flat(frontend::reshaped(kOp, *mask, Shape{mask->numel()}));
    return reshaped(*this, merged).index({&flat, 1}, where);
  }
  const Selection selection = frontend::resolve(kOp, *this, indices);
  const Dims dims = selection.dims(kOp, *this);
  Tensor result = sliced(*this, selection);
  if (!selection.has_tensors) return reshaped(result, dims);
  int lead = 0;
  result = gathered(std::move(result), selection, &lead);
  if (selection.positions_first && lead > 0) {
    Dims order(result.ndim());
    std::iota(order.begin(), order.end(), 0);
    std::rotate(order.begin(), order.begin() + lead,
                order.begin() + lead + selection.positions.rank());
    result = frontend::permuted(kOp, result, order);
  }
  return reshaped(result, dims);
}

Tensor Tensor::operator[](const Index& index) const {
  return this->index({&index, 1}, index.where());
}

Tensor Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d,
                          const Index& e, const Index& f, const Index& g, const Index& h) const {
  const Index indices[] = {a, b, c, d, e, f, g, h};
  const auto end = std::find_if(std::begin(indices), std::end(indices), [](const Index& index) {
    return index.kind() == Index::Kind::kNone;
  });
  return index({indices, static_cast<size_t>(end - indices)}, a.where());
}

}  // namespace sluice
