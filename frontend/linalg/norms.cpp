// Norms of vectors and matrices, and condition numbers.
#include <cmath>
#include <string>

#include <sluice/creation.h>
#include <sluice/linalg.h>
#include "frontend/composed/compose.h"
#include "frontend/linalg/factor.h"
#include "frontend/reduce.h"

namespace sluice::linalg {

using frontend::composed;
using frontend::describe;
using frontend::fail;

namespace {

Tensor with_kept(const Tensor& norms, bool keepdims) {
  return keepdims ? expand_dims(expand_dims(norms, -1), -1) : norms;
}

// Of sizes, of which 0 is the least: the greatest of nothing too.
Tensor greatest(const Tensor& sizes, const Axes& axes, bool keepdims = false) {
  return sizes.numel() == 0 ? sum(sizes, axes, keepdims) : max(sizes, axes, keepdims);
}

// Of matrices that are computed in their own dtype, (..).
Tensor norm_of(const char* op, const Tensor& x, const Norm& ord) {
  if (ord.name() == "fro") return norm(x, {-2, -1});
  if (ord.name() == "nuc") return sum(frontend::singular_values_of(op, x), {-1});
  const double order = std::abs(ord.order());
  const bool least = ord.order() < 0;
  auto extreme = [&](const Tensor& values) {
    return least ? min(values, {-1}) : greatest(values, {-1});
  };
  if (ord.name().empty() && order == 2) return extreme(frontend::singular_values_of(op, x));
  if (ord.name().empty() && order == 1) return extreme(sum(abs(x), {-2}));
  if (ord.name().empty() && std::isinf(order)) return extreme(sum(abs(x), {-1}));
  if (ord.name().empty()) {
    fail(op, "norm ", ord.order(), " is none of 1, -1, 2, -2, inf and -inf");
  }
  fail(op, "norm \"", std::string(ord.name()), "\" is neither \"fro\" nor \"nuc\"");
}

}  // namespace

Tensor vector_norm(Arg x, const Axes& axes, bool keepdims, double ord) {
  return composed(x, "vector_norm", [&](const Tensor& tensor) {
    const DType dtype = float_type(tensor.dtype());
    const Tensor values = astype(tensor, compute_type(dtype));
    auto of = [&]() {
      if (ord == 2) return norm(values, axes, keepdims);
      const Tensor sizes = abs(values);
      if (std::isinf(ord)) {
        return ord > 0 ? greatest(sizes, axes, keepdims) : min(sizes, axes, keepdims);
      }
      if (ord == 0) return sum(astype(values != 0, values.dtype()), axes, keepdims);
      if (ord == 1) return sum(sizes, axes, keepdims);
      return pow(sum(pow(sizes, ord), axes, keepdims), 1 / ord);
    };
    return astype(of(), dtype);
  });
}

Tensor matrix_norm(Arg x, Norm ord, bool keepdims) {
  return composed(x, "matrix_norm", [&](const Tensor& tensor) {
    const Tensor norms = norm_of("matrix_norm", frontend::as_matrices("matrix_norm", tensor), ord);
    return astype(with_kept(norms, keepdims), float_type(tensor.dtype()));
  });
}

Tensor cond(Arg x, Norm p) {
  constexpr const char* kOp = "cond";
  return composed(x, kOp, [&](const Tensor& tensor) {
    const DType dtype = float_type(tensor.dtype());
    const Tensor matrices = frontend::as_matrices(kOp, tensor);
    if (tensor.shape(-1) == 0 || tensor.shape(-2) == 0) {
      fail(kOp, "is not defined for matrices without elements: ", describe(tensor));
    }
    if (p.name().empty() && std::abs(p.order()) == 2) {
      const Tensor s = frontend::singular_values_of(kOp, matrices);
      const Tensor most = max(s, {-1}), least = min(s, {-1});
      // Of zeros, 0 / 0, inf as of all that is singular.
      return astype(where(most == 0, INFINITY, p.order() > 0 ? most / least : least / most), dtype);
    }
    const Tensor inverse =
        frontend::inverse_of(kOp, frontend::as_square_matrices(kOp, tensor), /*or_nan=*/true);
    // LAPACK has no singular values of NaN and infinities.
    const Tensor none = !isfinite(inverse);
    const Tensor product =
        norm_of(kOp, matrices, p) * norm_of(kOp, where(none, zeros_like(inverse), inverse), p);
    const Tensor is_singular = any(none, {-2, -1}) && !any(isnan(matrices), {-2, -1});
    return astype(where(is_singular, INFINITY, product), dtype);
  });
}

}  // namespace sluice::linalg
