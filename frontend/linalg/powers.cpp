// Powers of matrices, and small functions of vectors and matrices.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include <sluice/creation.h>
#include <sluice/linalg.h>
#include "frontend/composed/compose.h"
#include "frontend/linalg/factor.h"
#include "frontend/record.h"
#include "frontend/reduce.h"

namespace sluice::linalg {

using frontend::composed;
using frontend::describe;
using frontend::fail;

namespace {

Tensor identity_like(const Tensor& x) {
  return broadcast_to(eye(x.shape(-1), x.shape(-1), x.dtype(), x.device()), x.shape());
}

// x to the power n >= 1.
Tensor power(Tensor x, uint64_t n) {
  Tensor result;
  for (; n > 0; n >>= 1) {
    if ((n & 1) != 0) result = result.defined() ? matmul(result, x) : x;
    if (n > 1) x = matmul(x, x);
  }
  return result;
}

// Padé's approximation of e^x of these degrees, and the norm of x up to which its error is that of
// rounding: N. J. Higham, "The scaling and squaring method for the matrix exponential revisited",
// 2005, and its section on single precision.
struct Pade {
  std::span<const double> coefficients;
  double norm;
};
constexpr std::array<double, 8> kDegree7 = {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1};
constexpr std::array<double, 14> kDegree13 = {64764752532480000.,
                                              32382376266240000.,
                                              7771770303897600.,
                                              1187353796428800.,
                                              129060195264000.,
                                              10559470521600.,
                                              670442572800.,
                                              33522128640.,
                                              1323241920.,
                                              40840800.,
                                              960960.,
                                              16380.,
                                              182.,
                                              1.};

Pade pade_of(DType dtype) {
  return dtype == DType::kFloat64 ? Pade{kDegree13, 5.371920351148152}
                                  : Pade{kDegree7, 3.925724783138660};
}

// Quotient of the approximation's odd and even parts: (v - u)^-1 (v + u).
Tensor approximate(const char* op, const Tensor& x, std::span<const double> coefficients) {
  const Tensor one = identity_like(x), square_of_x = matmul(x, x);
  Tensor odd, even, powers = one;
  for (size_t k = 0; k + 1 < coefficients.size(); k += 2) {
    const Tensor even_term = powers * coefficients[k], odd_term = powers * coefficients[k + 1];
    even = even.defined() ? even + even_term : even_term;
    odd = odd.defined() ? odd + odd_term : odd_term;
    if (k + 3 < coefficients.size()) powers = k == 0 ? square_of_x : matmul(powers, square_of_x);
  }
  const Tensor u = matmul(x, odd);
  return frontend::solution_of(op, even - u, even + u);
}

}  // namespace

Tensor matrix_power(Arg x, int64_t n) {
  constexpr const char* kOp = "matrix_power";
  return composed(x, kOp, [&](const Tensor& tensor) {
    const Tensor matrices = frontend::as_square_matrices(kOp, tensor);
    if (n >= 0 && is_integer(tensor.dtype())) {
      return n == 0 ? identity_like(tensor) : power(tensor, static_cast<uint64_t>(n));
    }
    const DType dtype = float_type(tensor.dtype());
    if (n == 0) return astype(identity_like(matrices), dtype);
    const uint64_t count = n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
    return astype(power(n < 0 ? frontend::inverse_of(kOp, matrices) : matrices, count), dtype);
  });
}

Tensor expm(Arg x) {
  constexpr const char* kOp = "expm";
  return composed(x, kOp, [&](const Tensor& tensor) {
    const DType dtype = float_type(tensor.dtype());
    const Tensor matrices = frontend::as_square_matrices(kOp, tensor);
    if (tensor.numel() == 0) return astype(matrices, dtype);
    const Pade pade = pade_of(matrices.dtype());
    // Of each matrix the number of halvings that bring its norm below the bound; NaN needs none.
    const Tensor norms = max(sum(abs(matrices), {-2}, true), {-1}, true);
    const Tensor halvings = where(isfinite(norms), maximum(ceil(log2(norms / pade.norm)), 0), 0);
    const auto most = max(halvings).item<int64_t>();
    Tensor result = approximate(kOp, matrices * exp2(-halvings), pade.coefficients);
    for (int64_t k = 0; k < most; ++k) {
      result = where(halvings > static_cast<double>(k), matmul(result, result), result);
    }
    return astype(result, dtype);
  });
}

Tensor cross(Arg a, Arg b, int axis) {
  constexpr const char* kOp = "cross";
  return composed(a, b, kOp, [&](const Tensor& x, const Tensor& y) {
    frontend::common_device(kOp, x, y);
    const int in_x = frontend::check_axis(kOp, axis, x.ndim(), x);
    const int in_y = frontend::check_axis(kOp, axis, y.ndim(), y);
    if (x.shape(in_x) != 3 || y.shape(in_y) != 3) {
      fail(kOp, "needs 3 elements along axis ", axis, ": ", describe(x), ", ", describe(y));
    }
    const Tensor left = moveaxis(x, in_x, -1), right = moveaxis(y, in_y, -1);
    auto components = [](const Tensor& v) {
      return std::array{slice(v, -1, 0, 1), slice(v, -1, 1, 2), slice(v, -1, 2, 3)};
    };
    const auto [a0, a1, a2] = components(left);
    const auto [b0, b1, b2] = components(right);
    const Tensor result = concat({a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0}, -1);
    return moveaxis(result, -1, axis < 0 ? result.ndim() + axis : axis);
  });
}

Tensor trace(Arg x, int64_t offset, std::optional<DType> dtype) {
  return composed(x, "trace", [&](const Tensor& tensor) {
    if (tensor.ndim() < 2) fail("trace", "needs matrices, not ", describe(tensor));
    const Tensor elements = sluice::diagonal(tensor, offset);
    return sum(dtype ? astype(elements, *dtype) : elements, {-1});
  });
}

Tensor diagonal(Arg x, int64_t offset) {
  return composed(x, "diagonal", [&](const Tensor& tensor) {
    if (tensor.ndim() < 2) fail("diagonal", "needs matrices, not ", describe(tensor));
    return sluice::diagonal(tensor, offset);
  });
}

}  // namespace sluice::linalg
