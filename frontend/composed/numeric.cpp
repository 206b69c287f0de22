// Element-wise functions that are composed of ops.
#include <cmath>
#include <limits>

#include <sluice/dtype_info.h>
#include <sluice/ops.h>
#include "frontend/composed/compose.h"

namespace sluice {

using frontend::composed;
using frontend::describe;
using frontend::fail;

Tensor positive(Arg x) {
  return composed(x, "positive", [](const Tensor& tensor) {
    if (tensor.dtype() == DType::kBool) fail("positive", "takes numbers, not ", describe(tensor));
    return tensor;
  });
}

Tensor signbit(Arg x) {
  return composed(x, "signbit", [](const Tensor& tensor) {
    return is_float(tensor.dtype()) ? copysign(Scalar(1), tensor) < 0 : tensor < 0;
  });
}

Tensor nextafter(const Operand& x, const Operand& y) {
  return composed(x, y, "nextafter", [](const Tensor& from, const Tensor& to) {
    const DType dtype = float_type(promote(from.dtype(), to.dtype()));
    const Tensor a = astype(from, dtype), b = astype(to, dtype);
    // Rump, Zimmermann, Boldo, Melquiond, "Computing predecessor and successor in rounding to
    // nearest", BIT 2009, algorithm 2: by sums and products of the dtype itself.
    const FInfo info = finfo(dtype);
    const double u = info.eps / 2, eta = info.smallest_normal * info.eps;
    const double phi = u * (1 + 2 * u);
    const Tensor size = abs(a);
    const Tensor direction = where(b > a, full({}, 1, dtype, a.device()), -1);
    const Tensor far = a + copysign(size * phi, direction);
    const Tensor near = a + copysign(full({}, eta, dtype, a.device()), direction);
    const Tensor scaled = a * (1 / u);
    const Tensor between = (scaled + copysign(abs(scaled) * phi, direction)) * u;
    const Tensor next = where(size >= eta / u / u / 2, far, where(size < eta / u, near, between));
    const Tensor finite = where(next == 0, copysign(next, a), next);
    const Tensor moved =
        where(isinf(a), copysign(full({}, info.max, dtype, a.device()), a), finite);
    return where(a == b, b, where(isnan(a) || isnan(b), a + b, moved));
  });
}

Tensor around(Arg x, int decimals) {
  return composed(x, "around", [&](const Tensor& tensor) {
    const DType dtype = tensor.dtype();
    if (dtype == DType::kBool) fail("around", "takes numbers, not ", describe(tensor));
    if (!is_float(dtype) && decimals >= 0) return tensor;
    if (decimals == 0) return round(tensor);
    // Integers and half types are rounded once.
    const Tensor values = astype(tensor, is_float(dtype) ? compute_type(dtype) : DType::kFloat64);
    const double scale = std::pow(10.0, std::abs(decimals));
    return astype(decimals > 0 ? round(values * scale) / scale : round(values / scale) * scale,
                  dtype);
  });
}

Tensor round(Arg x, int decimals) {
  return frontend::in_name_of("round", [&] { return around(x, decimals); });
}

Tensor nan_to_num(Arg x, double nan, double posinf, double neginf) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return composed(x, "nan_to_num", [&](const Tensor& tensor) {
    if (!is_float(tensor.dtype())) return tensor;
    return where(isnan(tensor), nan,
                 where(tensor == kInfinity, posinf, where(tensor == -kInfinity, neginf, tensor)));
  });
}
Tensor nan_to_num(Arg x, double nan) {
  frontend::node_of("nan_to_num", x.tensor());
  const DType dtype = x.tensor().dtype();
  const double greatest = is_float(dtype) ? finfo(dtype).max : 0;
  return nan_to_num(x, nan, greatest, -greatest);
}

Tensor fmod(const Operand& x, const Operand& y) {
  return composed(x, y, "fmod", [](const Tensor& a, const Tensor& b) {
    const DType dtype = promote(a.dtype(), b.dtype());
    // Of floats, only the remainder of two positive numbers is exact.
    if (is_float(dtype)) return copysign(remainder(abs(a), abs(b)), a);
    Tensor rest = remainder(a, b);
    if (kind_of(dtype) == DTypeKind::kUnsigned) return rest;
    return where(rest != 0 && ((a < 0) != (b < 0)), rest - b, rest);
  });
}

TensorPair divmod(const Operand& x, const Operand& y) {
  return composed(x, y, "divmod", [](const Tensor& a, const Tensor& b) {
    return TensorPair(floor_divide(a, b), remainder(a, b));
  });
}

Tensor isclose(const Operand& a, const Operand& b, double rtol, double atol, bool equal_nan) {
  return composed(a, b, "isclose", [&](const Tensor& x, const Tensor& y) {
    // The tolerances are no numbers of half types, nor integers.
    const DType dtype = promote(x.dtype(), y.dtype());
    const DType computed = is_float(dtype) ? compute_type(dtype) : DType::kFloat64;
    const Tensor given = astype(x, computed), wanted = astype(y, computed);
    Tensor close =
        (abs(given - wanted) <= atol + rtol * abs(wanted) && isfinite(wanted)) || given == wanted;
    if (equal_nan) close = std::move(close) || (isnan(given) && isnan(wanted));
    return close;
  });
}

Tensor allclose(const Operand& a, const Operand& b, double rtol, double atol, bool equal_nan) {
  return composed(a, b, "allclose", [&](const Tensor& x, const Tensor& y) {
    return all(isclose(x, y, rtol, atol, equal_nan));
  });
}

Tensor array_equal(Arg a, Arg b, bool equal_nan) {
  return composed(a, b, "array_equal", [&](const Tensor& x, const Tensor& y) {
    if (x.shape() != y.shape()) return full({}, false, DType::kBool, x.device());
    Tensor same = x == y;
    if (equal_nan) same = std::move(same) || (isnan(x) && isnan(y));
    return all(std::move(same));
  });
}

}  // namespace sluice
