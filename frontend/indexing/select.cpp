#include "frontend/indexing/select.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <sluice/ops.h>
#include "frontend/indexing/positions.h"
#include "frontend/indexing/slice_range.h"
#include "frontend/record.h"

namespace sluice::frontend {
namespace {

using Kind = SelectedAxis::Kind;

Tensor tensor_of(const Index& index) { return Tensor(engine::NodeRef(index.tensor())); }

bool is_mask(const Index& index) {
  return index.kind() == Index::Kind::kTensor && tensor_of(index).dtype() == DType::kBool;
}

// How many axes of x the index stands for.
int width_of(const Index& index) {
  switch (index.kind()) {
    case Index::Kind::kInteger:
    case Index::Kind::kSlice: return 1;
    case Index::Kind::kTensor: return is_mask(index) ? tensor_of(index).ndim() : 1;
    default: return 0;
  }
}

SelectedAxis whole(int axis, const Tensor& x) { return {.axis = axis, .count = x.shape()[axis]}; }

SelectedAxis position(const char* op, int64_t index, int axis, const Tensor& x) {
  const int64_t extent = x.shape()[axis];
  if (index < -extent || index >= extent) {
    throw Error(ErrorCode::kOutOfRange,
                absl::StrCat(op, ": index ", index, " is out of range for axis ", axis, " of ",
                             describe(x)));
  }
  return {.kind = Kind::kPosition, .axis = axis, .start = index < 0 ? index + extent : index};
}

SelectedAxis range(const char* op, const Slice& slice, int axis, const Tensor& x) {
  if (slice.step == 0) fail(op, "the step of a Slice is 0, for axis ", axis, " of ", describe(x));
  const SliceRange found = slice_range(slice.start, slice.stop, slice.step, x.shape()[axis]);
  return {.axis = axis, .start = found.start, .count = found.count, .step = found.step};
}

// The positions of the true elements along each axis of the mask.
void add_mask(const char* op, const Tensor& mask, int axis, const Tensor& x, Selection* selection) {
  for (int k = 0; k < mask.ndim(); ++k) {
    if (mask.shape()[k] != x.shape()[axis + k]) {
      fail(op, "the mask ", describe(mask), " does not fit ", describe(x), " from axis ", axis,
           " on");
    }
  }
  const Tensor positions = true_positions(op, reshape(mask, Shape{mask.numel()}));
  const std::vector<Tensor> along = unravelled(positions.to(x.device()), mask.shape());
  for (int k = 0; k < mask.ndim(); ++k) {
    selection->axes.push_back({.kind = Kind::kTensor, .axis = axis + k, .positions = along[k]});
  }
}

// Which of the axes share the shape of the index tensors: these, and integers beside them.
bool is_among_tensors(const SelectedAxis& axis) {
  return axis.kind == Kind::kTensor || axis.kind == Kind::kPosition;
}

// `ellipsis`: how many axes are before it; -1 if there is none.
void broadcast_positions(const char* op, const Tensor& x, int64_t ellipsis, Selection* selection) {
  for (const SelectedAxis& axis : selection->axes) {
    if (axis.kind != Kind::kTensor) continue;
    common_device(op, x, axis.positions);
    const std::optional<Shape> shape =
        broadcast_shapes(selection->positions, axis.positions.shape());
    if (!shape) {
      fail(op, "indices of shapes ", to_string(selection->positions), " and ",
           to_string(axis.positions.shape()), " do not broadcast, for ", describe(x));
    }
    if (x.shape()[axis.axis] == 0 && axis.positions.numel() > 0) {
      throw Error(ErrorCode::kOutOfRange,
                  absl::StrCat(op, ": axis ", axis.axis, " of ", describe(x), " has no elements"));
    }
    selection->positions = *shape;
    selection->has_tensors = true;
  }
  if (!selection->has_tensors) return;
  const auto first = std::find_if(selection->axes.begin(), selection->axes.end(), is_among_tensors);
  const auto last =
      std::find_if(selection->axes.rbegin(), selection->axes.rend(), is_among_tensors).base();
  // An ellipsis comes between them even if it stands for no axis.
  const bool has_ellipsis =
      first - selection->axes.begin() < ellipsis && ellipsis < last - selection->axes.begin();
  selection->positions_first = has_ellipsis || !std::all_of(first, last, is_among_tensors);
}

}  // namespace

int Selection::lead() const {
  if (positions_first) return 0;
  int count = 0;
  for (const SelectedAxis& axis : axes) {
    if (is_among_tensors(axis)) break;
    ++count;
  }
  return count;
}

Dims Selection::dims(const char* op, const Tensor& x) const {
  Dims result;
  for (const SelectedAxis& axis : axes) {
    if (axis.kind == Kind::kRange || axis.kind == Kind::kNew) result.push_back(axis.count);
  }
  if (has_tensors) result.insert(result.begin() + lead(), positions.begin(), positions.end());
  check_rank(op, result.size(), x);
  return result;
}

Tensor checked_positions(const char* op, const Tensor& x, int axis, const Tensor& indices) {
  // Taken from 0, 1, 2, ... an index is itself, checked and counted from the front.
  return take(coordinate(op, Shape{x.shape()[axis]}, 0, x.device()), indices, 0);
}

Tensor with_axis(Tensor position, int64_t extent, Tensor at) {
  return position.defined() ? std::move(position) * extent + std::move(at) : at;
}

std::optional<Tensor> only_mask(const Tensor& x, std::span<const Index> indices) {
  if (indices.size() != 1 || !is_mask(indices[0])) return std::nullopt;
  Tensor mask = tensor_of(indices[0]);
  const bool fits = mask.ndim() > 0 && mask.ndim() <= x.ndim() &&
                    std::equal(mask.shape().begin(), mask.shape().end(), x.shape().begin());
  return fits ? std::optional(std::move(mask)) : std::nullopt;
}

Selection resolve(const char* op, const Tensor& x, std::span<const Index> indices) {
  int named = 0, ellipses = 0;
  for (const Index& index : indices) {
    if (index.kind() == Index::Kind::kTensor) {
      const Tensor tensor = tensor_of(index);
      node_of(op, tensor);
      if (!is_integer(tensor.dtype()) && tensor.dtype() != DType::kBool) {
        fail(op, "indices must be integers or bool, not ", describe(tensor));
      }
      if (is_mask(index) && tensor.ndim() == 0) {
        fail(op, "a mask must have an axis at least, ", describe(tensor), " has none");
      }
    }
    named += width_of(index);
    ellipses += index.kind() == Index::Kind::kEllipsis;
  }
  if (ellipses > 1) fail(op, "more than one ellipsis, for ", describe(x));
  if (named > x.ndim()) fail(op, named, " indices for the ", x.ndim(), " axes of ", describe(x));

  Selection selection;
  int axis = 0;
  int64_t ellipsis = -1;
  auto add_whole = [&] {
    for (int k = named; k < x.ndim(); ++k) selection.axes.push_back(whole(axis++, x));
  };
  for (const Index& index : indices) {
    switch (index.kind()) {
      case Index::Kind::kNone: break;
      case Index::Kind::kInteger:
        selection.axes.push_back(position(op, index.position(), axis, x));
        break;
      case Index::Kind::kSlice: selection.axes.push_back(range(op, index.slice(), axis, x)); break;
      case Index::Kind::kNewAxis: selection.axes.push_back({.kind = Kind::kNew}); break;
      case Index::Kind::kEllipsis:
        ellipsis = static_cast<int64_t>(selection.axes.size());
        add_whole();
        break;
      case Index::Kind::kTensor:
        if (is_mask(index)) {
          add_mask(op, tensor_of(index), axis, x, &selection);
        } else {
          selection.axes.push_back(
              {.kind = Kind::kTensor, .axis = axis, .positions = tensor_of(index)});
        }
        break;
    }
    axis += width_of(index);
  }
  if (ellipses == 0) add_whole();
  broadcast_positions(op, x, ellipsis, &selection);
  return selection;
}

}  // namespace sluice::frontend
