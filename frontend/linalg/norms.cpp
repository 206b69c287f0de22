// Norms of vectors and matrices, and condition numbers.
#include <cmath>
#include <string>

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

// Of matrices that are computed in their own dtype, (..).
Tensor norm_of(const char* op, const Tensor& x, const Norm& ord) {
  if (ord.name() == "fro") return norm(x, {-2, -1});
  if (ord.name() == "nuc") return sum(frontend::singular_values_of(op, x), {-1});
  const double order = std::abs(ord.order());
  const bool least = ord.order() < 0;
  auto extreme = [&](const Tensor& values) {
    return least ? min(values, {-1}) : max(values, {-1});
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
        return ord > 0 ? max(sizes, axes, keepdims) : min(sizes, axes, keepdims);
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
      const Tensor greatest = max(s, {-1}), least = min(s, {-1});
      return astype(p.order() > 0 ? greatest / least : least / greatest, dtype);
    }
    const Tensor inverse = frontend::inverse_of(kOp, frontend::as_square_matrices(kOp, tensor));
    return astype(norm_of(kOp, matrices, p) * norm_of(kOp, inverse, p), dtype);
  });
}

}  // namespace sluice::linalg
