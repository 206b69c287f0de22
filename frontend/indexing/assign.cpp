// set() and add_at(): arrays with other values at some positions. Integers and slices are a
// selection between the old values and the new ones; index tensors, and slices of few elements, are
// a scatter.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "engine/observe/call_site.h"
#include "frontend/call.h"
#include "frontend/indexing/scatter.h"
#include "frontend/indexing/select.h"
#include "frontend/record.h"

namespace sluice {
namespace {

using frontend::Assignment;
using frontend::describe;
using frontend::Dims;
using frontend::dims_of;
using frontend::fail;
using frontend::make_shape;
using frontend::scattered;
using frontend::SelectedAxis;
using frontend::Selection;
using frontend::span_of;
using Kind = SelectedAxis::Kind;

Tensor reshaped(const char* op, const Tensor& x, const Dims& dims) {
  return frontend::reshaped(op, x, make_shape(op, span_of(dims), x));
}

// The value, in x's dtype. Throws unless it broadcasts to `shape`, that of what is selected.
Tensor checked_value(const char* op, const Tensor& x, const Operand& value, const Shape& shape) {
  Tensor given =
      value.is_tensor() ? value.tensor() : full({}, value.scalar(), x.dtype(), x.device());
  frontend::node_of(op, given);
  frontend::common_device(op, x, given);
  given = astype(given, x.dtype());
  if (frontend::broadcast_shapes(given.shape(), shape) != shape) {
    fail(op, "the value ", describe(given), " does not broadcast to ", to_string(shape),
         ", what is selected of ", describe(x));
  }
  return given;
}

// Where along an axis an element of the range is.
Tensor in_range(const char* op, const SelectedAxis& range, const Tensor& x) {
  const int64_t extent = x.shape()[range.axis];
  Dims dims(x.ndim(), 1);
  dims[range.axis] = extent;
  const Tensor at =
      frontend::coordinate(op, make_shape(op, span_of(dims), x), range.axis, x.device());
  const int64_t last = range.start + (range.count - 1) * range.step;
  Tensor result = at >= std::min(range.start, last) && at <= std::max(range.start, last);
  const int64_t step = std::abs(range.step);
  return step == 1 ? result : std::move(result) && (at - range.start) % step == 0;
}

// `value` along an axis, moved to where the range is: the other elements are 0.
Tensor placed(const char* op, Tensor value, const SelectedAxis& range, int64_t extent) {
  const int axis = range.axis;
  int64_t first = range.start;
  if (range.step < 0) {
    value = flip(std::move(value), axis);
    first += (range.count - 1) * range.step;
  }
  auto padded = [&](Tensor x, int at, int64_t before, int64_t after) {
    std::vector<std::pair<int64_t, int64_t>> widths(x.ndim());
    widths[at] = {before, after};
    return before == 0 && after == 0 ? x : pad(std::move(x), widths);
  };
  if (const int64_t step = std::abs(range.step); step > 1) {
    // Each element is followed by step - 1 zeros, but the last.
    frontend::check_rank(op, value.ndim() + 1, value);
    Dims dims = dims_of(value);
    value = padded(expand_dims(std::move(value), axis + 1), axis + 1, 0, step - 1);
    dims[axis] *= step;
    value = reshaped(op, value, dims);
    value = slice(std::move(value), axis, 0, dims[axis] - (step - 1));
  }
  const int64_t length = value.shape()[axis];
  return padded(std::move(value), axis, first, extent - first - length);
}

// Of a long axis, elements some steps apart and short rows of them. To tell them from those between
// takes a division for each element of x, which takes as long as several copies.
bool is_strided(const SelectedAxis& range, const Tensor& x) {
  constexpr int64_t kLongAxis = 16, kLongRow = 32;
  if (range.kind != Kind::kRange || std::abs(range.step) == 1) return false;
  int64_t row = 1;
  for (int k = range.axis + 1; k < x.ndim(); ++k) row *= x.shape()[k];
  return x.shape()[range.axis] > kLongAxis && row < kLongRow;
}

// A few steps apart they are put back by joining them with those between.
bool is_joined(const SelectedAxis& range, const Tensor& x, bool is_uniform) {
  constexpr int64_t kLongStep = 32, kLongRun = 32;  // in bytes
  constexpr int64_t kVector = 16;                   // runs of such are rows of their own
  const int64_t step = std::abs(range.step), size = size_of(x.dtype());
  if (!is_strided(range, x) || step >= kLongStep || step % kVector == 0) return false;
  if (x.ndim() == kMaxRank) return false;
  if (x.shape()[range.axis] % step == 0) return true;
  // What is beside whole runs takes another pass, in which long elements hide divisions.
  return step * size <= kLongRun && !(is_uniform && size > 4);
}

// Farther apart they are scattered, by a processor.
bool is_scattered(const SelectedAxis& range, const Tensor& x, bool is_uniform) {
  constexpr int64_t kShortStep = 4, kFew = 4096;
  return x.device().type() == DeviceType::kCpu && x.numel() > kFew && is_strided(range, x) &&
         std::abs(range.step) > kShortStep && !is_joined(range, x, is_uniform);
}

// x with `values` in place of the elements of the range, whose step is positive: a selection by
// where an element is in its run of `step`. What there is beside whole runs is joined to them.
Tensor joined(const char* op, const Tensor& x, const Tensor& values, const SelectedAxis& range) {
  const int axis = range.axis;
  const int64_t step = range.step, extent = x.shape()[axis];
  const int64_t head = range.start / step * step, offset = range.start - head;
  const int64_t runs = std::min(range.count, (extent - head) / step);
  int64_t end = head + runs * step;
  std::vector<Tensor> parts;
  if (head > 0) parts.push_back(slice(x, axis, 0, head));
  if (runs > 0) {
    Dims dims = dims_of(x);
    dims[axis] = runs;
    dims.insert(dims.begin() + axis + 1, step);
    Dims places(dims.size(), 1);
    places[axis + 1] = step;
    Tensor place =
        frontend::coordinate(op, make_shape(op, span_of(places), x), axis + 1, x.device());
    const Tensor rows = sluice::where(std::move(place) == offset,
                                      expand_dims(slice(values, axis, 0, runs), axis + 1),
                                      reshaped(op, slice(x, axis, head, end), dims));
    dims.erase(dims.begin() + axis);
    dims[axis] = runs * step;
    parts.push_back(reshaped(op, rows, dims));
  }
  if (runs < range.count) {
    if (offset > 0) parts.push_back(slice(x, axis, end, end + offset));
    parts.push_back(slice(values, axis, runs, range.count));
    end += offset + 1;
  }
  if (end < extent) parts.push_back(slice(x, axis, end, extent));
  return concat(parts, axis);
}

// `values` in place of what the axes select of x, or added to it: one, or as many as there are.
Tensor assigned_to_axes(const Assignment& how, const Tensor& x, std::vector<SelectedAxis> axes,
                        Tensor values) {
  const bool is_uniform = values.ndim() == 0;
  const auto apart = std::find_if(axes.begin(), axes.end(), [&](const SelectedAxis& axis) {
    return is_joined(axis, x, is_uniform);
  });
  if (apart != axes.end()) {
    SelectedAxis range = *apart;
    int64_t last = range.start + (range.count - 1) * range.step;
    if (range.step < 0) {
      if (!is_uniform) values = flip(std::move(values), range.axis);
      std::swap(range.start, last);
      range.step = -range.step;
    }
    const Tensor selected = slice(x, range.axis, range.start, last + 1, range.step);
    *apart = {.axis = range.axis, .count = range.count};
    return joined(how.op, x, assigned_to_axes(how, selected, std::move(axes), std::move(values)),
                  range);
  }
  Tensor mask;
  for (const SelectedAxis& axis : axes) {
    if (axis.kind == Kind::kNew || axis.is_whole(x)) continue;
    Tensor inside = in_range(how.op, axis, x);
    mask = mask.defined() ? std::move(mask) && std::move(inside) : std::move(inside);
    if (!is_uniform) values = placed(how.op, std::move(values), axis, x.shape()[axis.axis]);
  }
  if (how.adds()) values = x + std::move(values);
  if (!mask.defined()) return broadcast_to(std::move(values), x.shape());
  return where(std::move(mask), std::move(values), x);
}

// Where the elements that are selected lie in x: positions of rows, which are made of the last axes
// that are selected whole. The axes of the index tensors come first.
Tensor assigned_to_positions(const Assignment& how, const Tensor& x, const Selection& selection,
                             const Operand& value) {
  const Shape shape = make_shape(how.op, selection.dims(how.op, x), x);
  Tensor values = broadcast_to(checked_value(how.op, x, value, shape), shape);

  int first_whole = x.ndim();  // of the axes that make a row
  for (auto axis = selection.axes.rbegin(); axis != selection.axes.rend(); ++axis) {
    if (axis->kind == Kind::kNew) continue;
    if (!axis->is_whole(x)) break;
    first_whole = axis->axis;
  }
  // The axes of the positions: those of the index tensors, then those of ranges.
  Dims dims(selection.positions.begin(), selection.positions.end());
  for (const SelectedAxis& axis : selection.axes) {
    if (axis.kind == Kind::kRange && axis.axis < first_whole) dims.push_back(axis.count);
  }
  frontend::check_rank(how.op, dims.size(), x);
  Tensor position;
  int next_range = selection.positions.rank();
  for (const SelectedAxis& axis : selection.axes) {
    if (axis.kind == Kind::kNew || axis.axis >= first_whole) continue;
    Dims along(dims.size(), 1);
    Tensor at;
    if (axis.kind == Kind::kTensor) {
      at = frontend::checked_positions(how.op, x, axis.axis, axis.positions);
      const int shift = selection.positions.rank() - at.ndim();
      for (int k = 0; k < at.ndim(); ++k) along[shift + k] = at.shape()[k];
      at = reshaped(how.op, at, along);
    } else {
      const int place = axis.kind == Kind::kRange ? next_range++ : 0;
      if (axis.kind == Kind::kRange) along[place] = axis.count;
      at = frontend::coordinate(how.op, make_shape(how.op, span_of(along), x), place, x.device()) *
               axis.step +
           axis.start;
    }
    position = frontend::with_axis(std::move(position), x.shape()[axis.axis], std::move(at));
  }

  // The value's axes in the same order: the positions' come first.
  const int lead = selection.lead();
  Dims order(values.ndim());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + lead,
              order.begin() + lead + selection.positions.rank());
  values = frontend::permuted(how.op, values, order);

  int64_t rows = 1, columns = 1, count = 1;
  for (int k = 0; k < x.ndim(); ++k) (k < first_whole ? rows : columns) *= x.shape()[k];
  for (const int64_t extent : dims) count *= extent;
  if (count * columns == 0) return x;
  position = reshape(broadcast_to(std::move(position), make_shape(how.op, span_of(dims), x)),
                     Shape{count});
  Tensor result = scattered(how, reshape(x, Shape{rows, columns}), position,
                            reshape(values, Shape{count, columns}));
  return reshape(std::move(result), x.shape());
}

// Integers and slices only.
Tensor assigned_to_ranges(const Assignment& how, const Tensor& x, const Selection& selection,
                          const Operand& value) {
  const Shape shape = make_shape(how.op, selection.dims(how.op, x), x);
  Tensor values = checked_value(how.op, x, value, shape);
  if (shape.numel() == 0) return x;
  const bool is_uniform = values.numel() == 1;
  if (std::any_of(selection.axes.begin(), selection.axes.end(),
                  [&](const SelectedAxis& axis) { return is_scattered(axis, x, is_uniform); })) {
    return assigned_to_positions(how, x, selection, values);
  }
  // One value is the same wherever it is placed.
  if (is_uniform) {
    values = reshape(std::move(values), Shape{});
  } else {
    Dims region(x.ndim());
    for (const SelectedAxis& axis : selection.axes) {
      if (axis.kind != Kind::kNew) region[axis.axis] = axis.count;
    }
    values = reshaped(how.op, broadcast_to(std::move(values), shape), region);
  }
  return assigned_to_axes(how, x, selection.axes, std::move(values));
}

Tensor assigned(const Assignment& how, const Tensor& x, std::span<const Index> indices,
                const Operand& value, const Location& where) {
  const engine::CallSite site(where, how.op);
  frontend::node_of(how.op, x);
  if (how.adds() && x.dtype() == DType::kBool) fail(how.op, "takes numbers, not ", describe(x));
  // One mask and one value for all: nothing needs to be counted.
  if (!value.is_tensor() || (value.tensor().defined() && value.tensor().ndim() == 0)) {
    if (const std::optional<Tensor> mask = frontend::only_mask(x, indices)) {
      Dims dims = dims_of(*mask);
      dims.resize(x.ndim(), 1);
      Tensor values = checked_value(how.op, x, value, Shape{});
      if (how.adds()) values = x + std::move(values);
      return sluice::where(reshaped(how.op, *mask, dims), std::move(values), x);
    }
  }
  const Selection selection = frontend::resolve(how.op, x, indices);
  return selection.has_tensors ? assigned_to_positions(how, x, selection, value)
                               : assigned_to_ranges(how, x, selection, value);
}

}  // namespace

Tensor Tensor::set(std::span<const Index> indices, const Operand& value, Location where) const {
  return assigned({"set"}, *this, indices, value, where);
}
Tensor Tensor::set(std::initializer_list<Index> indices, const Operand& value,
                   Location where) const {
  return set(std::span(indices.begin(), indices.size()), value, where);
}
Tensor Tensor::add_at(std::span<const Index> indices, const Operand& value, Location where) const {
  return assigned({"add_at", fusion::Op::kScatterAdd}, *this, indices, value, where);
}
Tensor Tensor::add_at(std::initializer_list<Index> indices, const Operand& value,
                      Location where) const {
  return add_at(std::span(indices.begin(), indices.size()), value, where);
}

}  // namespace sluice
