// Views: the elements of a tensor at other indices.
#include <algorithm>
#include <numeric>

#include <sluice/ops.h>
#include "absl/strings/str_join.h"
#include "frontend/call.h"
#include "frontend/dims.h"
#include "frontend/indexing/slice_range.h"
#include "frontend/record.h"

namespace sluice {
namespace {

using frontend::check_axes;
using frontend::check_axis;
using frontend::check_rank;
using frontend::describe;
using frontend::Dims;
using frontend::dims_of;
using frontend::fail;
using frontend::permuted;
using frontend::record_view;
using frontend::reshaped;
using frontend::span_of;
using frontend::with_call;
using fusion::Op;

// A slice is (start, step) for each axis; this is the whole tensor.
Dims whole(const Tensor& x) {
  Dims attrs;
  for (int i = 0; i < x.ndim(); ++i) {
    attrs.push_back(0);
    attrs.push_back(1);
  }
  return attrs;
}

}  // namespace

Tensor reshape(Arg x, const Shape& shape) {
  return with_call(x, "reshape", [&](const Tensor& tensor) {
    if (shape.numel() != tensor.numel()) {
      fail("reshape", describe(tensor), " has ", tensor.numel(), " elements, shape ",
           to_string(shape), " has ", shape.numel());
    }
    return reshaped("reshape", tensor, shape);
  });
}

Tensor reshape(Arg x, const std::vector<int64_t>& dims) {
  return with_call(x, "reshape", [&](const Tensor& tensor) {
    Dims known(dims.begin(), dims.end());
    const auto missing = std::find(known.begin(), known.end(), -1);
    if (missing != known.end()) {
      if (std::find(missing + 1, known.end(), -1) != known.end()) {
        fail("reshape", describe(tensor), " to (", absl::StrJoin(dims, ", "),
             "): at most one -1, the extent to be worked out");
      }
      *missing = 1;
      const int64_t rest = frontend::make_shape("reshape", span_of(known), tensor).numel();
      if (rest == 0 || tensor.numel() % rest != 0) {
        fail("reshape", describe(tensor), " does not divide into shape (",
             absl::StrJoin(dims, ", "), ")");
      }
      *missing = tensor.numel() / rest;
    }
    return reshape(tensor, frontend::make_shape("reshape", span_of(known), tensor));
  });
}

Tensor reshape(Arg x, std::initializer_list<int64_t> dims) {
  return reshape(x, std::vector<int64_t>(dims));
}
Tensor reshape(Arg x, int64_t extent) { return reshape(x, std::vector<int64_t>{extent}); }

Tensor permute(Arg x, const Axes& axes) {
  return with_call(x, "permute", [&](const Tensor& tensor) {
    if (static_cast<int>(axes.span().size()) != tensor.ndim()) {
      fail("permute", "(", absl::StrJoin(axes.span(), ", "), ") does not name each axis of ",
           describe(tensor));
    }
    check_axes("permute", axes, tensor);
    Dims order;
    for (int axis : axes.span()) {
      order.push_back(check_axis("permute", axis, tensor.ndim(), tensor));
    }
    return permuted("permute", tensor, order);
  });
}

Tensor transpose(Arg x) {
  return with_call(x, "transpose", [&](const Tensor& tensor) {
    Dims order(tensor.ndim());
    std::iota(order.rbegin(), order.rend(), 0);
    return permuted("transpose", tensor, order);
  });
}

Tensor swapaxes(Arg x, int a, int b) {
  return with_call(x, "swapaxes", [&](const Tensor& tensor) {
    Dims order(tensor.ndim());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[check_axis("swapaxes", a, tensor.ndim(), tensor)],
              order[check_axis("swapaxes", b, tensor.ndim(), tensor)]);
    return permuted("swapaxes", tensor, order);
  });
}

Tensor slice(Arg x, int axis, int64_t start, int64_t stop, int64_t step) {
  return with_call(x, "slice", [&](const Tensor& tensor) {
    axis = check_axis("slice", axis, tensor.ndim(), tensor);
    if (step == 0) fail("slice", "step is 0 for axis ", axis, " of ", describe(tensor));
    const frontend::SliceRange range =
        frontend::slice_range(start, stop, step, tensor.shape()[axis]);
    Dims dims = dims_of(tensor);
    dims[axis] = range.count;
    Dims attrs = whole(tensor);
    attrs[2 * axis] = range.start;
    attrs[2 * axis + 1] = range.step;
    return record_view("slice", Op::kSlice, tensor,
                       frontend::make_shape("slice", span_of(dims), tensor), attrs);
  });
}

Tensor squeeze(Arg x, const Axes& axes) {
  return with_call(x, "squeeze", [&](const Tensor& tensor) {
    const std::vector<int> dropped = check_axes("squeeze", axes, tensor);
    Dims dims;
    for (int i = 0; i < tensor.ndim(); ++i) {
      const bool named = std::find(dropped.begin(), dropped.end(), i) != dropped.end();
      if (!axes.empty() && named && tensor.shape()[i] != 1) {
        fail("squeeze", "axis ", i, " of ", describe(tensor), " is not of extent 1");
      }
      if (!named || tensor.shape()[i] != 1) dims.push_back(tensor.shape()[i]);
    }
    return reshaped("squeeze", tensor, frontend::make_shape("squeeze", span_of(dims), tensor));
  });
}

Tensor expand_dims(Arg x, int axis) {
  return with_call(x, "expand_dims", [&](const Tensor& tensor) {
    axis = check_axis("expand_dims", axis, tensor.ndim() + 1, tensor);
    check_rank("expand_dims", tensor.ndim() + 1, tensor);
    Dims dims = dims_of(tensor);
    dims.insert(dims.begin() + axis, 1);
    return reshaped("expand_dims", tensor,
                    frontend::make_shape("expand_dims", span_of(dims), tensor));
  });
}

Tensor broadcast_to(Arg x, const Shape& shape) {
  return with_call(x, "broadcast_to", [&](const Tensor& tensor) {
    if (frontend::broadcast_shapes(tensor.shape(), shape) != shape) {
      fail("broadcast_to", describe(tensor), " does not broadcast to ", to_string(shape));
    }
    return record_view("broadcast_to", Op::kBroadcast, tensor, shape);
  });
}

Tensor flip(Arg x, const Axes& axes) {
  return with_call(x, "flip", [&](const Tensor& tensor) {
    Dims attrs = whole(tensor);
    for (int axis : check_axes("flip", axes, tensor)) {
      if (tensor.shape()[axis] < 2) continue;
      attrs[2 * axis] = tensor.shape()[axis] - 1;
      attrs[2 * axis + 1] = -1;
    }
    return record_view("flip", Op::kSlice, tensor, tensor.shape(), attrs);
  });
}

std::vector<Tensor> split(const Tensor& x, int sections, int axis, Location where) {
  return with_call({x, where}, "split", [&](const Tensor& tensor) {
    axis = check_axis("split", axis, tensor.ndim(), tensor);
    const int64_t extent = tensor.shape()[axis];
    if (sections < 1 || extent % sections != 0) {
      fail("split", "axis ", axis, " of ", describe(tensor), " does not divide into ", sections,
           " equal sections");
    }
    std::vector<Tensor> parts;
    const int64_t length = extent / sections;
    for (int i = 0; i < sections; ++i) {
      parts.push_back(slice(tensor, axis, i * length, (i + 1) * length));
    }
    return parts;
  });
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
  return with_call(x, "tile", [&](const Tensor& tensor) {
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
    return result;
  });
}
Tensor tile(Arg x, std::initializer_list<int64_t> reps) {
  return tile(x, std::span(reps.begin(), reps.size()));
}

Tensor repeat(Arg x, int64_t count, int axis) {
  return with_call(x, "repeat", [&](const Tensor& tensor) {
    axis = check_axis("repeat", axis, tensor.ndim(), tensor);
    if (count < 0) fail("repeat", "negative count ", count, " for ", describe(tensor));
    return repeated("repeat", tensor, axis, count, true);
  });
}

}  // namespace sluice
