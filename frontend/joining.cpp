// Ops that lay the elements of tensors together: joining, padding, rolling, triangles.
#include <algorithm>
#include <vector>

#include <sluice/ops.h>
#include "absl/container/inlined_vector.h"
#include "frontend/call.h"
#include "frontend/dims.h"
#include "frontend/record.h"

namespace sluice {
namespace {

using frontend::check_axis;
using frontend::check_rank;
using frontend::describe;
using frontend::Dims;
using frontend::dims_of;
using frontend::fail;
using frontend::node_of;
using frontend::span_of;
using frontend::with_call;
using fusion::Op;

// The operands of one op: the calls of a launch.
constexpr size_t kMaxParts = 256;

Tensor concatenate(const char* op, std::span<const Tensor> tensors, int axis) {
  if (tensors.empty()) fail(op, "needs at least one tensor");
  for (const Tensor& x : tensors) node_of(op, x);
  const Tensor& first = tensors[0];
  axis = check_axis(op, axis, first.ndim(), first);
  Dims dims = dims_of(first);
  dims[axis] = 0;
  DType dtype = first.dtype();
  absl::InlinedVector<engine::NodeOperand, 8> operands;
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
  if (tensors.size() == 1) return first;
  const int64_t attr = axis;
  auto join = [&](std::span<const engine::NodeOperand> parts, int64_t extent) {
    dims[axis] = extent;
    return frontend::record({.caller = {.name = op},
                             .op = Op::kConcat,
                             .dtype = dtype,
                             .operand_dtype = dtype,
                             .device = first.device(),
                             .shape = frontend::make_shape(op, span_of(dims), first),
                             .operands = parts,
                             .attrs = {&attr, 1}});
  };
  if (tensors.size() <= kMaxParts) return join(operands, dims[axis]);
  // In groups, each of which is a launch.
  std::vector<Tensor> groups;
  for (size_t begin = 0; begin < tensors.size(); begin += kMaxParts) {
    const size_t count = std::min(kMaxParts, tensors.size() - begin);
    int64_t extent = 0;
    for (const Tensor& x : tensors.subspan(begin, count)) extent += x.shape()[axis];
    groups.push_back(join(std::span(operands).subspan(begin, count), extent));
  }
  return concatenate(op, groups, axis);
}

}  // namespace

Tensor concat(std::span<const Tensor> tensors, int axis, Location where) {
  const engine::CallSite site(where, "concat");
  return concatenate("concat", tensors, axis);
}
Tensor concat(std::initializer_list<Tensor> tensors, int axis, Location where) {
  return concat(std::span(tensors.begin(), tensors.size()), axis, where);
}
Tensor concat(const std::vector<Tensor>& tensors, int axis, Location where) {
  return concat(std::span(tensors), axis, where);
}

Tensor stack(std::span<const Tensor> tensors, int axis, Location where) {
  const engine::CallSite site(where, "stack");
  if (tensors.empty()) fail("stack", "needs at least one tensor");
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
Tensor stack(std::initializer_list<Tensor> tensors, int axis, Location where) {
  return stack(std::span(tensors.begin(), tensors.size()), axis, where);
}
Tensor stack(const std::vector<Tensor>& tensors, int axis, Location where) {
  return stack(std::span(tensors), axis, where);
}

Tensor pad(Arg x, std::span<const std::pair<int64_t, int64_t>> widths, Scalar value) {
  return with_call(x, "pad", [&](const Tensor& tensor) {
    const engine::NodeOperand operands[2] = {
        {tensor.node_ref().get()}, {nullptr, frontend::scalar_bits(value, tensor.dtype())}};
    if (static_cast<int>(widths.size()) != tensor.ndim()) {
      fail("pad", "one {before, after} for each axis of ", describe(tensor), ", not ",
           widths.size());
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
    return frontend::record({.caller = {.name = "pad"},
                             .op = Op::kPad,
                             .dtype = tensor.dtype(),
                             .operand_dtype = tensor.dtype(),
                             .device = tensor.device(),
                             .shape = frontend::make_shape("pad", span_of(dims), tensor),
                             .operands = operands,
                             .attrs = before});
  });
}
Tensor pad(Arg x, std::initializer_list<std::pair<int64_t, int64_t>> widths, Scalar value) {
  return pad(x, std::span(widths.begin(), widths.size()), value);
}

Tensor roll(Arg x, int64_t shift, int axis) {
  return with_call(x, "roll", [&](const Tensor& tensor) {
    axis = check_axis("roll", axis, tensor.ndim(), tensor);
    const int64_t extent = tensor.shape()[axis];
    if (extent == 0) return tensor;
    shift = (shift % extent + extent) % extent;
    if (shift == 0) return tensor;
    const engine::NodeOperand operand{tensor.node_ref().get()};
    const int64_t attrs[] = {axis, shift};
    return frontend::record({.caller = {.name = "roll"},
                             .op = Op::kRoll,
                             .dtype = tensor.dtype(),
                             .operand_dtype = tensor.dtype(),
                             .device = tensor.device(),
                             .shape = tensor.shape(),
                             .operands = {&operand, 1},
                             .attrs = attrs});
  });
}

Tensor roll(Arg x, const std::vector<int64_t>& shifts, const Axes& axes) {
  return with_call(x, "roll", [&](const Tensor& tensor) {
    const std::span<const int> along = axes.span();
    const size_t count = std::max(shifts.size(), along.size());
    if ((shifts.size() != count && shifts.size() != 1) ||
        (along.size() != count && along.size() != 1)) {
      fail("roll", shifts.size(), " shifts for ", along.size(), " axes of ", describe(tensor));
    }
    Tensor rolled = tensor;
    for (size_t i = 0; i < count; ++i) {
      rolled = roll(rolled, shifts[shifts.size() == 1 ? 0 : i], along[along.size() == 1 ? 0 : i]);
    }
    return rolled;
  });
}
Tensor roll(Arg x, int64_t shift) {
  return with_call(x, "roll", [&](const Tensor& tensor) {
    return reshape(roll(reshape(tensor, {-1}), shift, 0), tensor.shape());
  });
}

namespace {

// Elements of the last two axes where column - row - k is at most 0 (lower) or at least 0.
Tensor triangle(const char* op, const Arg& x, int64_t k, bool lower) {
  return with_call(x, op, [&](const Tensor& tensor) {
    const int rank = tensor.ndim();
    if (rank < 2) fail(op, describe(tensor), " has fewer than 2 dimensions");
    const Shape plane{tensor.shape()[rank - 2], tensor.shape()[rank - 1]};
    Tensor diagonal = frontend::coordinate(op, plane, 1, tensor.device()) -
                      frontend::coordinate(op, plane, 0, tensor.device());
    const Tensor keep = lower ? std::move(diagonal) <= k : std::move(diagonal) >= k;
    return where(keep, tensor, Scalar(false));
  });
}

}  // namespace

Tensor tril(Arg x, int64_t k) { return triangle("tril", x, k, true); }
Tensor triu(Arg x, int64_t k) { return triangle("triu", x, k, false); }

}  // namespace sluice
