// Shape ops: views, and those that lay tensors together.
#include <algorithm>
#include <numeric>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_join.h"
#include "engine/observe/call_site.h"
#include "frontend/checks.h"
#include "frontend/record.h"

namespace sluice {
namespace {

using engine::CallSite;
using engine::NodeOperand;
using frontend::check_axes;
using frontend::check_axis;
using frontend::describe;
using frontend::fail;
using frontend::node_of;
using frontend::record_view;
using fusion::Op;
using Dims = absl::InlinedVector<int64_t, kMaxRank>;

std::span<const int64_t> span_of(const Dims& dims) { return {dims.data(), dims.size()}; }

Dims dims_of(const Tensor& x) { return Dims(x.shape().begin(), x.shape().end()); }

// A slice is (start, step) for each axis; this is the whole tensor.
Dims whole(const Tensor& x) {
  Dims attrs;
  for (int i = 0; i < x.ndim(); ++i) {
    attrs.push_back(0);
    attrs.push_back(1);
  }
  return attrs;
}

void check_rank(const char* op, size_t rank, const Tensor& x) {
  if (rank > kMaxRank) fail(op, describe(x), " would have more than ", kMaxRank, " dimensions");
}

Tensor permuted(const char* op, const Tensor& x, const Dims& order) {
  Dims dims;
  for (int64_t axis : order) dims.push_back(x.shape()[static_cast<int>(axis)]);
  return record_view(op, Op::kPermute, x, frontend::make_shape(op, span_of(dims), x), order);
}

Tensor consumed(Arg x, Tensor result) {
  x.release();
  return result;
}

Tensor reshaped(const char* op, const Tensor& x, const Shape& shape) {
  return record_view(op, Op::kReshape, x, shape);
}

std::vector<Tensor> copy_of(std::initializer_list<Tensor> tensors) { return {tensors}; }

}  // namespace

Tensor reshape(Arg x, const Shape& shape) {
  const CallSite site(x.where());
  const Tensor& tensor = x.tensor();
  node_of("reshape", tensor);
  if (shape.numel() != tensor.numel()) {
    fail("reshape", describe(tensor), " has ", tensor.numel(), " elements, shape ",
         to_string(shape), " has ", shape.numel());
  }
  return consumed(x, reshaped("reshape", tensor, shape));
}

Tensor reshape(Arg x, std::initializer_list<int64_t> dims) {
  const CallSite site(x.where());
  const Tensor& tensor = x.tensor();
  node_of("reshape", tensor);
  Dims known(dims.begin(), dims.end());
  const auto missing = std::find(known.begin(), known.end(), -1);
  if (missing != known.end()) {
    *missing = 1;
    const int64_t rest = frontend::make_shape("reshape", span_of(known), tensor).numel();
    if (rest == 0 || tensor.numel() % rest != 0) {
      fail("reshape", describe(tensor), " does not divide into shape (", absl::StrJoin(dims, ", "),
           ")");
    }
    *missing = tensor.numel() / rest;
  }
  return reshape(x, frontend::make_shape("reshape", span_of(known), tensor));
}

Tensor permute(Arg x, const Axes& axes) {
  const CallSite site(x.where());
  const Tensor& tensor = x.tensor();
  node_of("permute", tensor);
  if (static_cast<int>(axes.span().size()) != tensor.ndim()) {
    fail("permute", axes.span().size(), " axes (", absl::StrJoin(axes.span(), ", "), ") for ",
         describe(tensor));
  }
  check_axes("permute", axes, tensor);
  Dims order;
  for (int axis : axes.span()) order.push_back(check_axis("permute", axis, tensor.ndim(), tensor));
  return consumed(x, permuted("permute", tensor, order));
}

Tensor transpose(Arg x) {
  const CallSite site(x.where());
  const Tensor& tensor = x.tensor();
  node_of("transpose", tensor);
  Dims order(tensor.ndim());
  std::iota(order.rbegin(), order.rend(), 0);
  return consumed(x, permuted("transpose", tensor, order));
}

Tensor swapaxes(Arg x, int a, int b) {
  const CallSite site(x.where());
  const Tensor& tensor = x.tensor();
  node_of("swapaxes", tensor);
  Dims order(tensor.ndim());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[check_axis("swapaxes", a, tensor.ndim(), tensor)],
            order[check_axis("swapaxes", b, tensor.ndim(), tensor)]);
  return consumed(x, permuted("swapaxes", tensor, order));
}

Tensor slice(Arg x, int axis, int64_t start, int64_t stop, int64_t step) {
  const CallSite site(x.where());
  const Tensor& tensor = x.tensor();
  node_of("slice", tensor);
  axis = check_axis("slice", axis, tensor.ndim(), tensor);
  if (step == 0) fail("slice", "step is 0 for axis ", axis, " of ", describe(tensor));
  const int64_t extent = tensor.shape()[axis];
  // As Python: negative positions count from the end once, then both are clamped to where a walk in
  // the direction of the step may begin and end.
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? extent : extent - 1;
  auto clamp = [&](int64_t position) {
    if (position < 0) position = position < -extent ? -1 - extent : position + extent;
    if (position < 0) return low;
    return std::clamp(position, low, high);
  };
  start = clamp(start);
  stop = clamp(stop);
  int64_t count = 0;
  if (step > 0 && stop > start) count = (stop - start - 1) / step + 1;
  // -step would overflow for the least int64; dividing by a negative step and negating does not.
  if (step < 0 && stop < start) count = -((start - stop - 1) / step) + 1;
  Dims dims = dims_of(tensor);
  dims[axis] = count;
  Dims attrs = whole(tensor);
  attrs[2 * axis] = count > 0 ? start : 0;
  attrs[2 * axis + 1] = count > 1 ? step : 1;
  return consumed(x, record_view("slice", Op::kSlice, tensor,
                                 frontend::make_shape("slice", span_of(dims), tensor), attrs));
}

Tensor squeeze(Arg x, const Axes& axes) {
  const CallSite site(x.where());
  const Tensor& tensor = x.tensor();
  node_of("squeeze", tensor);
  const std::vector<int> dropped = check_axes("squeeze", axes, tensor);
  Dims dims;
  for (int i = 0; i < tensor.ndim(); ++i) {
    const bool named = std::find(dropped.begin(), dropped.end(), i) != dropped.end();
    if (!axes.empty() && named && tensor.shape()[i] != 1) {
      fail("squeeze", "axis ", i, " of ", describe(tensor), " is not of extent 1");
    }
    if (!named || tensor.shape()[i] != 1) dims.push_back(tensor.shape()[i]);
  }
  return consumed(
      x, reshaped("squeeze", tensor, frontend::make_shape("squeeze", span_of(dims), tensor)));
}

Tensor expand_dims(Arg x, int axis) {
  const CallSite site(x.where());
  const Tensor& tensor = x.tensor();
  node_of("expand_dims", tensor);
  axis = check_axis("expand_dims", axis, tensor.ndim() + 1, tensor);
  check_rank("expand_dims", tensor.ndim() + 1, tensor);
  Dims dims = dims_of(tensor);
  dims.insert(dims.begin() + axis, 1);
  return consumed(x, reshaped("expand_dims", tensor,
                              frontend::make_shape("expand_dims", span_of(dims), tensor)));
}

Tensor broadcast_to(Arg x, const Shape& shape) {
  const CallSite site(x.where());
  const Tensor& tensor = x.tensor();
  node_of("broadcast_to", tensor);
  if (frontend::broadcast_shapes(tensor.shape(), shape) != shape) {
    fail("broadcast_to", describe(tensor), " does not broadcast to ", to_string(shape));
  }
  return consumed(x, record_view("broadcast_to", Op::kBroadcast, tensor, shape));
}

Tensor flip(Arg x, const Axes& axes) {
  const CallSite site(x.where());
  const Tensor& tensor = x.tensor();
  node_of("flip", tensor);
  Dims attrs = whole(tensor);
  for (int axis : check_axes("flip", axes, tensor)) {
    if (tensor.shape()[axis] < 2) continue;
    attrs[2 * axis] = tensor.shape()[axis] - 1;
    attrs[2 * axis + 1] = -1;
  }
  return consumed(x, record_view("flip", Op::kSlice, tensor, tensor.shape(), attrs));
}

namespace {

Tensor concatenate(const char* op, std::span<const Tensor> tensors, int axis) {
  if (tensors.empty()) fail(op, "no tensors");
  for (const Tensor& x : tensors) node_of(op, x);
  const Tensor& first = tensors[0];
  axis = check_axis(op, axis, first.ndim(), first);
  Dims dims = dims_of(first);
  dims[axis] = 0;
  DType dtype = first.dtype();
  absl::InlinedVector<NodeOperand, 8> operands;
  for (const Tensor& x : tensors) {
    bool fits = x.ndim() == first.ndim();
    for (int i = 0; fits && i < x.ndim(); ++i) {
      fits = i == axis || x.shape()[i] == first.shape()[i];
    }
    if (!fits) fail(op, describe(first), " and ", describe(x), " differ beside axis ", axis);
    frontend::common_device(op, first, x);
    dims[axis] += x.shape()[axis];
    dtype = promote(dtype, x.dtype());
    operands.push_back({x.node_ref().get()});
  }
  const int64_t attr = axis;
  return frontend::record({op,
                           Op::kConcat,
                           dtype,
                           dtype,
                           frontend::make_shape(op, span_of(dims), first),
                           operands,
                           {&attr, 1}},
                          first.device());
}

}  // namespace

Tensor concat(std::span<const Tensor> tensors, int axis, std::source_location where) {
  const CallSite site(where);
  return concatenate("concat", tensors, axis);
}
Tensor concat(std::initializer_list<Tensor> tensors, int axis, std::source_location where) {
  const CallSite site(where);
  return concat(copy_of(tensors), axis);
}
Tensor concat(const std::vector<Tensor>& tensors, int axis, std::source_location where) {
  const CallSite site(where);
  return concat(std::span<const Tensor>(tensors), axis);
}

Tensor stack(std::span<const Tensor> tensors, int axis, std::source_location where) {
  const CallSite site(where);
  if (tensors.empty()) fail("stack", "no tensors");
  std::vector<Tensor> expanded;
  for (const Tensor& x : tensors) {
    node_of("stack", x);
    if (x.shape() != tensors[0].shape()) {
      fail("stack", describe(tensors[0]), " and ", describe(x), " have different shapes");
    }
    check_rank("stack", x.ndim() + 1, x);
    expanded.push_back(expand_dims(x, check_axis("stack", axis, x.ndim() + 1, x)));
  }
  return concatenate("stack", expanded, axis);
}
Tensor stack(std::initializer_list<Tensor> tensors, int axis, std::source_location where) {
  const CallSite site(where);
  return stack(copy_of(tensors), axis);
}
Tensor stack(const std::vector<Tensor>& tensors, int axis, std::source_location where) {
  const CallSite site(where);
  return stack(std::span<const Tensor>(tensors), axis);
}

std::vector<Tensor> split(const Tensor& x, int sections, int axis, std::source_location where) {
  const CallSite site(where);
  node_of("split", x);
  axis = check_axis("split", axis, x.ndim(), x);
  const int64_t extent = x.shape()[axis];
  if (sections < 1 || extent % sections != 0) {
    fail("split", "axis ", axis, " of ", describe(x), " does not divide into ", sections,
         " equal sections");
  }
  std::vector<Tensor> parts;
  const int64_t length = extent / sections;
  for (int i = 0; i < sections; ++i) parts.push_back(slice(x, axis, i * length, (i + 1) * length));
  return parts;
}

Tensor pad(Arg x, std::span<const std::pair<int64_t, int64_t>> widths, Scalar value) {
  const CallSite site(x.where());
  const Tensor& tensor = x.tensor();
  const NodeOperand operands[2] = {{node_of("pad", tensor)},
                                   {nullptr, frontend::scalar_bits(value, tensor.dtype())}};
  if (static_cast<int>(widths.size()) != tensor.ndim()) {
    fail("pad", widths.size(), " widths for ", describe(tensor));
  }
  Dims before;
  Dims dims = dims_of(tensor);
  for (int i = 0; i < tensor.ndim(); ++i) {
    if (widths[i].first < 0 || widths[i].second < 0) {
      fail("pad", "negative width for axis ", i, " of ", describe(tensor));
    }
    before.push_back(widths[i].first);
    dims[i] += widths[i].first + widths[i].second;
  }
  return consumed(
      x, frontend::record({"pad", Op::kPad, tensor.dtype(), tensor.dtype(),
                           frontend::make_shape("pad", span_of(dims), tensor), operands, before},
                          tensor.device()));
}
Tensor pad(Arg x, std::initializer_list<std::pair<int64_t, int64_t>> widths, Scalar value) {
  const CallSite site(x.where());
  return pad(x, std::span(widths.begin(), widths.size()), value);
}

// `count` copies of each run of `x` along a new axis before `axis`, which is then merged into it:
// of the whole axis for tile, of each element (inner) for repeat.
static Tensor repeated(const char* op, const Tensor& x, int axis, int64_t count, bool inner) {
  Dims dims = dims_of(x);
  const Dims original = dims;
  if (count == 1) return x;
  check_rank(op, dims.size() + 1, x);
  const int at = inner ? axis + 1 : axis;
  dims.insert(dims.begin() + at, 1);
  const Tensor expanded = reshaped(op, x, frontend::make_shape(op, span_of(dims), x));
  dims[at] = count;
  const Tensor copies =
      record_view(op, Op::kBroadcast, expanded, frontend::make_shape(op, span_of(dims), x));
  dims = original;
  dims[axis] *= count;
  return reshaped(op, copies, frontend::make_shape(op, span_of(dims), x));
}

Tensor tile(Arg x, std::span<const int64_t> reps) {
  const CallSite site(x.where());
  const Tensor& tensor = x.tensor();
  node_of("tile", tensor);
  check_rank("tile", std::max<size_t>(reps.size(), tensor.ndim()), tensor);
  Dims dims = dims_of(tensor);
  while (dims.size() < reps.size()) dims.insert(dims.begin(), 1);
  Tensor result =
      dims.size() == static_cast<size_t>(tensor.ndim())
          ? tensor
          : reshaped("tile", tensor, frontend::make_shape("tile", span_of(dims), tensor));
  const int lead = static_cast<int>(dims.size() - reps.size());
  for (size_t i = 0; i < reps.size(); ++i) {
    if (reps[i] < 0) fail("tile", "negative count ", reps[i], " for ", describe(tensor));
    result = repeated("tile", result, lead + static_cast<int>(i), reps[i], false);
  }
  return consumed(x, result);
}
Tensor tile(Arg x, std::initializer_list<int64_t> reps) {
  const CallSite site(x.where());
  return tile(x, std::span(reps.begin(), reps.size()));
}

Tensor repeat(Arg x, int64_t count, int axis) {
  const CallSite site(x.where());
  const Tensor& tensor = x.tensor();
  node_of("repeat", tensor);
  axis = check_axis("repeat", axis, tensor.ndim(), tensor);
  if (count < 0) fail("repeat", "negative count ", count, " for ", describe(tensor));
  return consumed(x, repeated("repeat", tensor, axis, count, true));
}

Tensor roll(Arg x, int64_t shift, int axis) {
  const CallSite site(x.where());
  const Tensor& tensor = x.tensor();
  node_of("roll", tensor);
  axis = check_axis("roll", axis, tensor.ndim(), tensor);
  const int64_t extent = tensor.shape()[axis];
  if (extent == 0) return tensor;
  shift = (shift % extent + extent) % extent;
  if (shift == 0) return tensor;
  const Tensor parts[] = {slice(tensor, axis, extent - shift, extent),
                          slice(tensor, axis, 0, extent - shift)};
  return consumed(x, concatenate("roll", parts, axis));
}

namespace {

// Elements of the last two axes where column - row - k is at most 0 (lower) or at least 0.
Tensor triangle(const char* op, Arg x, int64_t k, bool lower) {
  const Tensor& tensor = x.tensor();
  node_of(op, tensor);
  const int rank = tensor.ndim();
  if (rank < 2) fail(op, describe(tensor), " has fewer than 2 dimensions");
  const Shape plane{tensor.shape()[rank - 2], tensor.shape()[rank - 1]};
  Tensor diagonal = frontend::coordinate(op, plane, 1, tensor.device()) -
                    frontend::coordinate(op, plane, 0, tensor.device());
  const Tensor keep = lower ? std::move(diagonal) <= k : std::move(diagonal) >= k;
  Tensor result = where(keep, tensor, Scalar(false));
  x.release();
  return result;
}

}  // namespace

Tensor tril(Arg x, int64_t k) {
  const CallSite site(x.where());
  return triangle("tril", x, k, true);
}
Tensor triu(Arg x, int64_t k) {
  const CallSite site(x.where());
  return triangle("triu", x, k, false);
}

}  // namespace sluice
