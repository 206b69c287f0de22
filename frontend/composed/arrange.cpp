// Tensors in other arrangements: axes moved, broadcast together, diagonals, differences.
#include <algorithm>
#include <numeric>

#include <sluice/ops.h>
#include "frontend/composed/compose.h"
#include "frontend/dims.h"
#include "frontend/record.h"

namespace sluice {
namespace {

using frontend::check_axes;
using frontend::check_axis;
using frontend::composed;
using frontend::describe;
using frontend::Dims;
using frontend::dims_of;
using frontend::fail;
using frontend::make_shape;
using frontend::span_of;

// The axes of `x` in this order, checked and counted from the front.
std::vector<int> ordered_axes(const char* op, const Axes& axes, const Tensor& x) {
  if (!axes.empty()) check_axes(op, axes, x);
  std::vector<int> result;
  for (const int axis : axes.span()) result.push_back(check_axis(op, axis, x.ndim(), x));
  return result;
}

}  // namespace

Tensor permute_dims(Arg x, const Axes& axes) {
  return composed(x, "permute_dims", [&](const Tensor& tensor) { return permute(tensor, axes); });
}

Tensor matrix_transpose(Arg x) {
  return composed(x, "matrix_transpose", [](const Tensor& tensor) {
    if (tensor.ndim() < 2) {
      fail("matrix_transpose", describe(tensor), " has fewer than 2 dimensions");
    }
    return swapaxes(tensor, -2, -1);
  });
}

Tensor moveaxis(Arg x, const Axes& source, const Axes& destination) {
  constexpr const char* kOp = "moveaxis";
  return composed(x, kOp, [&](const Tensor& tensor) {
    const std::vector<int> from = ordered_axes(kOp, source, tensor);
    const std::vector<int> to = ordered_axes(kOp, destination, tensor);
    if (from.size() != to.size()) {
      fail(kOp, from.size(), " axes to ", to.size(), " places, for ", describe(tensor));
    }
    Dims order(tensor.ndim(), -1);
    for (size_t i = 0; i < from.size(); ++i) order[to[i]] = from[i];
    int next = 0;
    for (int64_t& axis : order) {
      if (axis >= 0) continue;
      while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
      axis = next++;
    }
    return frontend::permuted(kOp, tensor, order);
  });
}

std::vector<Tensor> unstack(const Tensor& x, int axis, Location where) {
  return composed({x, where}, "unstack", [&](const Tensor& tensor) {
    const int checked = check_axis("unstack", axis, tensor.ndim(), tensor);
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < tensor.shape()[checked]; ++i) {
      parts.push_back(squeeze(slice(tensor, checked, i, i + 1), checked));
    }
    return parts;
  });
}

Shape broadcast_shapes(std::span<const Shape> shapes) {
  Shape result;
  for (const Shape& shape : shapes) {
    const std::optional<Shape> common = frontend::broadcast_shapes(result, shape);
    if (!common) {
      fail("broadcast_shapes", to_string(shape), " does not broadcast with ", to_string(result));
    }
    result = *common;
  }
  return result;
}
Shape broadcast_shapes(std::initializer_list<Shape> shapes) {
  return broadcast_shapes(std::span(shapes.begin(), shapes.size()));
}

std::vector<Tensor> broadcast_arrays(std::span<const Tensor> tensors, Location where) {
  const engine::CallSite site(where, "broadcast_arrays");
  return frontend::in_name_of("broadcast_arrays", [&] {
    std::vector<Shape> shapes;
    for (const Tensor& x : tensors) {
      frontend::node_of("broadcast_arrays", x);
      shapes.push_back(x.shape());
    }
    const Shape shape = broadcast_shapes(shapes);
    std::vector<Tensor> results;
    for (const Tensor& x : tensors) results.push_back(broadcast_to(x, shape));
    return results;
  });
}
std::vector<Tensor> broadcast_arrays(std::initializer_list<Tensor> tensors, Location where) {
  return broadcast_arrays(std::span(tensors.begin(), tensors.size()), where);
}

std::vector<Tensor> meshgrid(std::span<const Tensor> tensors, bool ij, Location where) {
  constexpr const char* kOp = "meshgrid";
  const engine::CallSite site(where, kOp);
  return frontend::in_name_of(kOp, [&] {
    const size_t rank = tensors.size();
    Dims dims;
    for (const Tensor& x : tensors) {
      frontend::node_of(kOp, x);
      if (x.ndim() > 1) fail(kOp, describe(x), " has more than 1 dimension");
      dims.push_back(x.numel());
    }
    // Which axis a tensor varies along: Cartesian coordinates have x, the first one's, along rows.
    auto axis_of = [&](size_t k) { return ij || rank < 2 || k > 1 ? k : 1 - k; };
    if (rank > 1 && !ij) std::swap(dims[0], dims[1]);
    const Shape shape = frontend::make_shape(kOp, span_of(dims));
    std::vector<Tensor> results;
    for (size_t k = 0; k < rank; ++k) {
      Dims own(rank, 1);
      own[axis_of(k)] = tensors[k].numel();
      results.push_back(
          broadcast_to(reshape(tensors[k], frontend::make_shape(kOp, span_of(own))), shape));
    }
    return results;
  });
}
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> tensors, bool ij, Location where) {
  return meshgrid(std::span(tensors.begin(), tensors.size()), ij, where);
}

Tensor diagonal(Arg x, int64_t offset, int axis1, int axis2) {
  constexpr const char* kOp = "diagonal";
  return composed(x, kOp, [&](const Tensor& tensor) {
    const int first = check_axis(kOp, axis1, tensor.ndim(), tensor);
    const int second = check_axis(kOp, axis2, tensor.ndim(), tensor);
    if (first == second) fail(kOp, "axis ", first, " is named twice for ", describe(tensor));
    const Tensor planes = moveaxis(tensor, {first, second}, {-2, -1});
    const int64_t rows = planes.shape(-2), columns = planes.shape(-1);
    const int64_t from_row = std::clamp<int64_t>(-offset, 0, rows);
    const int64_t from_column = std::clamp<int64_t>(offset, 0, columns);
    const int64_t count = std::min(rows - from_row, columns - from_column);
    // In row-major order, a row and a column further each time.
    Dims dims = dims_of(planes);
    dims.pop_back();
    dims.back() = rows * columns;
    const Tensor flat = reshape(planes, make_shape(kOp, span_of(dims), tensor));
    const int64_t start = from_row * columns + from_column;
    const int64_t stop = count > 0 ? start + (count - 1) * (columns + 1) + 1 : start;
    return slice(flat, -1, start, stop, columns + 1);
  });
}

Tensor diff(Arg x, int n, int axis, const Tensor& prepend, const Tensor& append) {
  constexpr const char* kOp = "diff";
  return composed(x, kOp, [&](const Tensor& tensor) {
    if (n < 0) fail(kOp, "n is ", n, ", for ", describe(tensor));
    const int along = check_axis(kOp, axis, tensor.ndim(), tensor);
    if (n == 0) return tensor;
    auto end = [&](const Tensor& given) {
      if (given.ndim() > 0) return given;
      Dims dims = dims_of(tensor);
      dims[along] = 1;
      return broadcast_to(given, make_shape(kOp, span_of(dims), tensor));
    };
    std::vector<Tensor> parts;
    if (prepend.defined()) parts.push_back(end(prepend));
    parts.push_back(tensor);
    if (append.defined()) parts.push_back(end(append));
    Tensor result = parts.size() == 1 ? tensor : concat(parts, along);
    for (int i = 0; i < n; ++i) {
      const int64_t count = result.shape()[along];
      const Tensor next = slice(result, along, 1, count);
      const Tensor last = slice(result, along, 0, std::max<int64_t>(count - 1, 0));
      result = result.dtype() == DType::kBool ? next != last : next - last;
    }
    return result;
  });
}

Tensor repeat(Arg x, Arg counts, int axis) {
  constexpr const char* kOp = "repeat";
  return composed(x, counts, kOp, [&](const Tensor& tensor, const Tensor& times) {
    const int along = check_axis(kOp, axis, tensor.ndim(), tensor);
    const int64_t extent = tensor.shape()[along];
    if (!is_integer(times.dtype()) || times.ndim() > 1 ||
        (times.numel() != 1 && times.numel() != extent)) {
      fail(kOp, "takes one count, or one for each of the ", extent, " along axis ", along, " of ",
           describe(tensor), ", was given ", describe(times));
    }
    const std::vector<int64_t> each = astype(times, DType::kInt64).to_vector<int64_t>();
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < extent; ++i) {
      const int64_t count = each[each.size() == 1 ? 0 : i];
      if (count < 0) fail(kOp, "negative count ", count, " for ", describe(tensor));
      positions.insert(positions.end(), count, i);
    }
    return take(tensor, Tensor::from(positions).to(tensor.device()), along);
  });
}

}  // namespace sluice
