#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "tests/oracle/ops.h"

namespace sluice::oracle {
namespace {

Shape shape_of(const std::vector<int64_t>& dims) { return Shape(std::span<const int64_t>(dims)); }
std::vector<int64_t> dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

// result[index] = x[source(index)].
template <typename F>
NdArray move_elements(const NdArray& x, const Shape& shape, F source) {
  NdArray result(x.dtype, shape);
  int64_t i = 0;
  for_each_index(shape, [&](const Index& index) {
    const int64_t from = offset_of(source(index), x.shape);
    result.values[i] = x.values[from];
    result.errors[i++] = x.errors[from];
  });
  return result;
}

// x where keep(row, column) of the last two axes, else 0.
template <typename F>
NdArray triangle(const NdArray& x, F keep) {
  NdArray result = x;
  int64_t i = 0;
  for_each_index(x.shape, [&](const Index& index) {
    if (!keep(index[index.size() - 2], index[index.size() - 1])) {
      result.values[i] = 0;
      result.errors[i] = 0;
    }
    ++i;
  });
  return result;
}

}  // namespace

NdArray reshape(const NdArray& x, const Shape& shape) {
  NdArray result = x;
  result.shape = shape;
  return result;
}

NdArray permute(const NdArray& x, const std::vector<int>& axes) {
  std::vector<int64_t> dims;
  for (int axis : axes) dims.push_back(x.shape[normalize_axis(axis, x.rank())]);
  return move_elements(x, shape_of(dims), [&](const Index& index) {
    Index source(x.rank());
    for (int i = 0; i < x.rank(); ++i) source[normalize_axis(axes[i], x.rank())] = index[i];
    return source;
  });
}

NdArray transpose(const NdArray& x) {
  std::vector<int> axes(x.rank());
  for (int i = 0; i < x.rank(); ++i) axes[i] = x.rank() - 1 - i;
  return permute(x, axes);
}

NdArray swapaxes(const NdArray& x, int a, int b) {
  std::vector<int> axes(x.rank());
  for (int i = 0; i < x.rank(); ++i) axes[i] = i;
  std::swap(axes[normalize_axis(a, x.rank())], axes[normalize_axis(b, x.rank())]);
  return permute(x, axes);
}

NdArray slice(const NdArray& x, int axis, int64_t start, int64_t stop, int64_t step) {
  axis = normalize_axis(axis, x.rank());
  const int64_t extent = x.shape[axis];
  const int64_t least = step > 0 ? 0 : -1;
  const int64_t greatest = step > 0 ? extent : extent - 1;
  const auto clamp = [&](int64_t i) {
    return std::clamp(i < 0 ? std::max(i, -extent - 1) + extent : i, least, greatest);
  };
  start = clamp(start);
  stop = clamp(stop);
  std::vector<int64_t> dims = dims_of(x.shape);
  int64_t count = 0;
  for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) ++count;
  dims[axis] = count;
  return move_elements(x, shape_of(dims), [&](Index index) {
    index[axis] = start + index[axis] * step;
    return index;
  });
}

NdArray squeeze(const NdArray& x, const std::vector<int>& axes) {
  std::vector<int64_t> dims;
  for (int i = 0; i < x.rank(); ++i) {
    bool drop = axes.empty() && x.shape[i] == 1;
    for (int axis : axes) drop |= normalize_axis(axis, x.rank()) == i;
    if (!drop) dims.push_back(x.shape[i]);
  }
  return reshape(x, shape_of(dims));
}

NdArray expand_dims(const NdArray& x, int axis) {
  std::vector<int64_t> dims = dims_of(x.shape);
  dims.insert(dims.begin() + normalize_axis(axis, x.rank() + 1), 1);
  return reshape(x, shape_of(dims));
}

NdArray broadcast_to(const NdArray& x, const Shape& shape) {
  NdArray result(x.dtype, shape);
  int64_t i = 0;
  for_each_index(shape, [&](const Index& index) {
    const int64_t from = broadcast_offset(index, x.shape);
    result.values[i] = x.values[from];
    result.errors[i++] = x.errors[from];
  });
  return result;
}

NdArray flip(const NdArray& x, const std::vector<int>& axes) {
  return move_elements(x, x.shape, [&](Index index) {
    for (int i = 0; i < x.rank(); ++i) {
      bool reversed = axes.empty();
      for (int axis : axes) reversed |= normalize_axis(axis, x.rank()) == i;
      if (reversed) index[i] = x.shape[i] - 1 - index[i];
    }
    return index;
  });
}

NdArray concat(const std::vector<NdArray>& arrays, int axis) {
  axis = normalize_axis(axis, arrays[0].rank());
  std::vector<int64_t> dims = dims_of(arrays[0].shape);
  DType dtype = arrays[0].dtype;
  dims[axis] = 0;
  for (const NdArray& array : arrays) {
    dims[axis] += array.shape[axis];
    dtype = promote(dtype, array.dtype);
  }
  NdArray result(dtype, shape_of(dims));
  int64_t before = 0;
  for (const NdArray& array : arrays) {
    const NdArray x = cast(array, dtype);
    int64_t i = 0;
    for_each_index(x.shape, [&](Index index) {
      index[axis] += before;
      const int64_t to = offset_of(index, result.shape);
      result.values[to] = x.values[i];
      result.errors[to] = x.errors[i++];
    });
    before += x.shape[axis];
  }
  return result;
}

NdArray stack(const std::vector<NdArray>& arrays, int axis) {
  std::vector<NdArray> expanded;
  for (const NdArray& array : arrays) expanded.push_back(expand_dims(array, axis));
  return concat(expanded, axis);
}

NdArray pad(const NdArray& x, const std::vector<std::pair<int64_t, int64_t>>& widths, Real value) {
  std::vector<int64_t> dims = dims_of(x.shape);
  for (int i = 0; i < x.rank(); ++i) dims[i] += widths[i].first + widths[i].second;
  NdArray result = full(shape_of(dims), value, x.dtype);
  int64_t i = 0;
  for_each_index(x.shape, [&](Index index) {
    for (int axis = 0; axis < x.rank(); ++axis) index[axis] += widths[axis].first;
    const int64_t to = offset_of(index, result.shape);
    result.values[to] = x.values[i];
    result.errors[to] = x.errors[i++];
  });
  return result;
}

NdArray tile(const NdArray& x, const std::vector<int64_t>& reps) {
  std::vector<int64_t> dims = dims_of(x.shape);
  std::vector<int64_t> times = reps;
  while (dims.size() < times.size()) dims.insert(dims.begin(), 1);
  while (times.size() < dims.size()) times.insert(times.begin(), 1);
  const NdArray aligned = reshape(x, shape_of(dims));
  std::vector<int64_t> result_dims = dims;
  for (size_t i = 0; i < dims.size(); ++i) result_dims[i] *= times[i];
  return move_elements(aligned, shape_of(result_dims), [&](Index index) {
    for (size_t i = 0; i < dims.size(); ++i) index[i] %= dims[i];
    return index;
  });
}

NdArray repeat(const NdArray& x, int64_t count, int axis) {
  axis = normalize_axis(axis, x.rank());
  std::vector<int64_t> dims = dims_of(x.shape);
  dims[axis] *= count;
  return move_elements(x, shape_of(dims), [&](Index index) {
    index[axis] /= count;
    return index;
  });
}

NdArray roll(const NdArray& x, int64_t shift, int axis) {
  axis = normalize_axis(axis, x.rank());
  return move_elements(x, x.shape, [&](Index index) {
    const int64_t extent = x.shape[axis];
    index[axis] = ((index[axis] - shift) % extent + extent) % extent;
    return index;
  });
}

NdArray tril(const NdArray& x, int64_t k) {
  return triangle(x, [&](int64_t row, int64_t column) { return column - row <= k; });
}
NdArray triu(const NdArray& x, int64_t k) {
  return triangle(x, [&](int64_t row, int64_t column) { return column - row >= k; });
}

NdArray take(const NdArray& x, const NdArray& indices, int axis) {
  axis = normalize_axis(axis, x.rank());
  std::vector<int64_t> dims = dims_of(x.shape);
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, indices.shape.begin(), indices.shape.end());
  return move_elements(x, shape_of(dims), [&](const Index& index) {
    const auto first = index.begin() + axis;
    const auto last = first + indices.rank();
    auto i = static_cast<int64_t>(indices.values[offset_of(Index(first, last), indices.shape)]);
    Index source(index.begin(), first);
    source.push_back(i < 0 ? i + x.shape[axis] : i);
    source.insert(source.end(), last, index.end());
    return source;
  });
}

NdArray take_along_axis(const NdArray& x, const NdArray& indices, int axis) {
  axis = normalize_axis(axis, x.rank());
  // The other axes broadcast.
  std::vector<int64_t> dims_x = dims_of(x.shape), dims_i = dims_of(indices.shape);
  dims_x[axis] = dims_i[axis] = 1;
  std::vector<int64_t> dims = dims_of(broadcast_shapes(shape_of(dims_x), shape_of(dims_i)));
  dims[axis] = indices.shape[axis];
  return move_elements(x, shape_of(dims), [&](const Index& index) {
    auto i = static_cast<int64_t>(indices.values[broadcast_offset(index, indices.shape)]);
    Index source = index;
    for (int k = 0; k < x.rank(); ++k) {
      if (x.shape[k] == 1) source[k] = 0;
    }
    source[axis] = i < 0 ? i + x.shape[axis] : i;
    return source;
  });
}

NdArray divisor(const std::string& op, const NdArray& x, const NdArray& y) {
  const DType dtype = promote(x.dtype, y.dtype);
  const NdArray a = cast(x, dtype), b = cast(y, dtype);
  NdArray result(dtype, broadcast_shapes(x.shape, y.shape));
  for_each_index(result.shape, [&](const Index& index) {
    const auto magnitude = [&](const NdArray& of) {
      return static_cast<__int128>(std::abs(of.values[broadcast_offset(index, of.shape)]));
    };
    const __int128 m = magnitude(a), n = magnitude(b);
    __int128 d = m;
    for (__int128 rest = n; rest != 0;) std::tie(d, rest) = std::tuple(rest, d % rest);
    using Natural = unsigned __int128;  // wraps
    const __int128 of_op =
        op == "gcd" ? d
        : d == 0    ? 0
                    : static_cast<__int128>(static_cast<Natural>(m / d) * static_cast<Natural>(n));
    const int64_t at = offset_of(index, result.shape);
    result.values[at] = wrap_integer(of_op, dtype);
    result.errors[at] = std::max(a.errors[broadcast_offset(index, a.shape)],
                                 b.errors[broadcast_offset(index, b.shape)]);
  });
  return result;
}

NdArray scatter(const std::string& op, const NdArray& x, const NdArray& indices,
                const NdArray& updates, int axis) {
  axis = normalize_axis(axis, x.rank());
  NdArray result = x;
  const NdArray values = cast(updates, x.dtype);
  std::vector<int64_t> dims = dims_of(broadcast_shapes(indices.shape, updates.shape));
  for (int k = 0; k < x.rank(); ++k) {
    if (k != axis) dims[k] = x.shape[k];
  }
  for_each_index(shape_of(dims), [&](const Index& index) {
    Index to = index;
    to[axis] = static_cast<int64_t>(indices.values[broadcast_offset(index, indices.shape)]);
    if (to[axis] < 0) to[axis] += x.shape[axis];
    const int64_t from = broadcast_offset(index, values.shape), at = offset_of(to, x.shape);
    const Real a = result.values[at], b = values.values[from];
    if (op == "scatter") {
      result.values[at] = b;
      result.errors[at] = values.errors[from];
    } else {
      // Of two zeros the positive one is the greater.
      const bool is_max = op == "scatter_max", is_zero = a == 0 && b == 0;
      const bool replaces = is_zero ? std::signbit(is_max ? a : b) : is_max ? a < b : b < a;
      if (b != b || replaces) result.values[at] = b;
      result.errors[at] = std::max(result.errors[at], values.errors[from]);
    }
  });
  return result;
}

NdArray scatter_add(const NdArray& x, const NdArray& indices, const NdArray& updates, int axis) {
  axis = normalize_axis(axis, x.rank());
  const DType compute = compute_type(x.dtype);
  NdArray result = cast(x, compute);
  const NdArray values = cast(updates, x.dtype);
  const auto sum_of = [&](Real a, Real b) {
    return is_float(compute)
               ? round_float(a + b, compute)
               : wrap_integer(static_cast<__int128>(a) + static_cast<__int128>(b), compute);
  };
  std::vector<int64_t> dims = dims_of(broadcast_shapes(indices.shape, updates.shape));
  for (int k = 0; k < x.rank(); ++k) {
    if (k != axis) dims[k] = x.shape[k];
  }
  for_each_index(shape_of(dims), [&](const Index& index) {
    Index to = index;
    to[axis] = static_cast<int64_t>(indices.values[broadcast_offset(index, indices.shape)]);
    if (to[axis] < 0) to[axis] += x.shape[axis];
    const int64_t from = broadcast_offset(index, values.shape), at = offset_of(to, x.shape);
    result.values[at] = sum_of(result.values[at], values.values[from]);
    result.errors[at] += values.errors[from];
    // An inexact sum may be rounded to a neighbour.
    if (result.errors[at] > 0 && is_float(compute)) {
      result.errors[at] += ulp(result.values[at], compute);
    }
  });
  return cast(result, x.dtype);
}

NdArray one_hot(const NdArray& indices, int64_t classes, DType dtype) {
  std::vector<int64_t> dims = dims_of(indices.shape);
  dims.push_back(classes);
  NdArray result(dtype, shape_of(dims));
  for (int64_t i = 0; i < indices.numel(); ++i) {
    const auto hot = static_cast<int64_t>(indices.values[i]);
    if (hot >= 0 && hot < classes) result.values[i * classes + hot] = 1;
  }
  return result;
}

NdArray arange(Real start, Real stop, Real step, DType dtype) {
  const auto count = std::max<int64_t>(0, static_cast<int64_t>(std::ceil((stop - start) / step)));
  NdArray result(dtype, Shape{count});
  for (int64_t i = 0; i < count; ++i) {
    const Real value =
        static_cast<double>(start) + static_cast<double>(i) * static_cast<double>(step);
    result.values[i] =
        is_float(dtype) ? round_float(static_cast<double>(value), dtype) : start + i * step;
    // An engine may use a fused multiply-add.
    if (is_float(dtype) && value != start + i * step) result.errors[i] = ulp(value, dtype);
  }
  return result;
}

NdArray linspace(Real start, Real stop, int64_t num, DType dtype) {
  NdArray result(dtype, Shape{num});
  for (int64_t i = 0; i < num; ++i) {
    const Real value = num == 1 ? start : start + (stop - start) * i / (num - 1);
    const bool last = i == num - 1 && num > 1;
    result.values[i] = round_float(last ? stop : value, dtype);
    if (i != 0 && !last) {
      result.errors[i] = ulp(value, dtype) + std::max(std::fabs(start), std::fabs(stop)) * 0x1p-50L;
    }
  }
  return result;
}

NdArray eye(int64_t n, int64_t m, DType dtype) {
  NdArray result(dtype, Shape{n, m});
  for (int64_t i = 0; i < std::min(n, m); ++i) result.values[i * m + i] = 1;
  return result;
}

}  // namespace sluice::oracle
