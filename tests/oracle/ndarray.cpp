#include "tests/oracle/ndarray.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace sluice::oracle {

FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return {11, -14, 65504.0L};
    case DType::kBFloat16: return {8, -126, 0x1.fep127L};
    case DType::kFloat32: return {24, -126, std::numeric_limits<float>::max()};
    default: return {53, -1022, std::numeric_limits<double>::max()};
  }
}

Real ulp(Real value, DType dtype) {
  const FloatFormat format = format_of(dtype);
  if (!std::isfinite(value)) return ulp(format.max, dtype);
  const int exponent =
      value == 0 ? format.min_exponent : std::max(std::ilogb(value), format.min_exponent);
  return std::ldexp(Real(1), exponent - format.digits + 1);
}

Real smallest(DType dtype) { return ulp(0, dtype); }

Real round_float(Real value, DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return static_cast<float>(float16(static_cast<float>(value)));
    case DType::kBFloat16: return static_cast<float>(bfloat16(static_cast<float>(value)));
    case DType::kFloat32: return static_cast<float>(value);
    default: return static_cast<double>(value);
  }
}

Real wrap_integer(__int128 value, DType dtype) {
  return visit_dtype(dtype, [&]<typename T>() -> Real {
    if constexpr (std::is_same_v<T, bool>)
      return value != 0;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(value);
    else
      throw std::logic_error("wrap_integer of a float dtype");
  });
}

Real convert(Real value, DType from, DType to) {
  if (to == DType::kBool) return value != 0;  // NaN is not 0
  if (is_float(to)) return round_float(value, to);
  if (!is_float(from)) return wrap_integer(static_cast<__int128>(value), to);
  if (std::isnan(value)) return 0;
  return visit_dtype(to, [&]<typename T>() -> Real {
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      return std::clamp(std::trunc(value), Real(Limits::min()), Real(Limits::max())) + Real(0);
    } else {
      return 0;
    }
  });
}

NdArray cast(const NdArray& x, DType dtype) {
  if (dtype == x.dtype) return x;
  NdArray result(dtype, x.shape);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const Real value = convert(x.values[i], x.dtype, dtype);
    const Real error = x.errors[i];
    result.values[i] = value;
    if (error == 0) {
      if (!is_half(dtype)) continue;
      // An engine may round such a number once instead of twice.
      if (round_float(x.values[i], DType::kFloat32) != x.values[i]) {
        result.errors[i] = ulp(value, dtype);
      }
      continue;
    }
    const Real low = convert(x.values[i] - error, x.dtype, dtype);
    const Real high = convert(x.values[i] + error, x.dtype, dtype);
    // A number next to zero may be zero.
    const bool may_be_zero = dtype == DType::kBool && !(std::fabs(x.values[i]) > error);
    if (error == kUnknown || may_be_zero || std::isnan(value) || std::isinf(high) ||
        std::isinf(low)) {
      result.errors[i] = kUnknown;
    } else if (is_float(dtype)) {
      result.errors[i] = std::max(high - value, value - low) + ulp(value, dtype);
    } else {
      result.errors[i] = low == high ? 0 : kUnknown;
    }
  }
  return result;
}

NdArray full(const Shape& shape, Real value, DType dtype) {
  NdArray result(dtype, shape);
  std::fill(result.values.begin(), result.values.end(), value);
  return result;
}

void for_each_index(const Shape& shape, const std::function<void(const Index&)>& f) {
  Index index(shape.rank(), 0);
  for (int64_t n = 0; n < shape.numel(); ++n) {
    f(index);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

int64_t offset_of(const Index& index, const Shape& shape) {
  int64_t offset = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) offset = offset * shape[axis] + index[axis];
  return offset;
}

int normalize_axis(int axis, int rank) { return axis < 0 ? axis + rank : axis; }

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> dims(rank);
  for (int i = 0; i < rank; ++i) {
    const int in_a = i - (rank - a.rank());
    const int in_b = i - (rank - b.rank());
    const int64_t da = in_a < 0 ? 1 : a[in_a];
    const int64_t db = in_b < 0 ? 1 : b[in_b];
    if (da != db && da != 1 && db != 1) throw std::logic_error("shapes don't broadcast");
    dims[i] = da == 1 ? db : da;
  }
  return Shape(std::span<const int64_t>(dims));
}

int64_t broadcast_offset(const Index& index, const Shape& shape) {
  const int skipped = static_cast<int>(index.size()) - shape.rank();
  int64_t offset = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    offset = offset * shape[axis] + (shape[axis] == 1 ? 0 : index[axis + skipped]);
  }
  return offset;
}

std::string to_string(Real value, DType dtype) {
  char text[64];
  if (is_float(dtype))
    std::snprintf(text, sizeof text, "%.17Lg (%La)", value, value);
  else
    std::snprintf(text, sizeof text, "%.0Lf", value);
  return text;
}

}  // namespace sluice::oracle
