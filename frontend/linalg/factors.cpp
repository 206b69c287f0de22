// Matrices taken apart: Cholesky's factor, QR, singular values, eigenvalues.
#include <algorithm>
#include <string>
#include <vector>

#include <sluice/linalg.h>
#include "frontend/composed/compose.h"
#include "frontend/linalg/factor.h"

namespace sluice::linalg {

using frontend::composed;
using frontend::factor;
using frontend::fail;
using fusion::Op;

namespace {

DType result_type(const Tensor& x) { return float_type(x.dtype()); }

}  // namespace

Tensor cholesky(Arg x, bool upper) {
  return composed(x, "cholesky", [&](const Tensor& tensor) {
    const Tensor matrices = frontend::as_square_matrices("cholesky", tensor);
    const int64_t n = tensor.shape(-1);
    return astype(factor("cholesky", Op::kCholesky, upper, matrices, {{{n, n}}})[0],
                  result_type(tensor));
  });
}

QrResult qr(Arg x, std::string_view mode) {
  return composed(x, "qr", [&](const Tensor& tensor) -> QrResult {
    const bool complete = mode == "complete";
    if (!complete && mode != "reduced") {
      fail("qr", "mode \"", std::string(mode), "\" is neither \"reduced\" nor \"complete\"");
    }
    const Tensor matrices = frontend::as_matrices("qr", tensor);
    const int64_t m = tensor.shape(-2), n = tensor.shape(-1);
    const int64_t middle = complete ? m : std::min(m, n);
    const std::vector<Tensor> parts =
        factor("qr", Op::kQr, complete, matrices, {{{m, middle}, 1}, {{middle, n}}});
    return {astype(parts[0], result_type(tensor)), astype(parts[1], result_type(tensor))};
  });
}

SvdResult svd(Arg x, bool full_matrices) {
  return composed(x, "svd", [&](const Tensor& tensor) -> SvdResult {
    const Tensor matrices = frontend::as_matrices("svd", tensor);
    const int64_t m = tensor.shape(-2), n = tensor.shape(-1), k = std::min(m, n);
    const std::vector<Tensor> parts =
        factor("svd", Op::kSvd, full_matrices ? 2 : 1, matrices,
               {{{m, full_matrices ? m : k}, 1}, {{k}}, {{full_matrices ? n : k, n}, 1}});
    const DType dtype = result_type(tensor);
    return {astype(parts[0], dtype), astype(parts[1], dtype), astype(parts[2], dtype)};
  });
}

Tensor svdvals(Arg x) {
  return composed(x, "svdvals", [](const Tensor& tensor) {
    const Tensor matrices = frontend::as_matrices("svdvals", tensor);
    return astype(frontend::singular_values_of("svdvals", matrices), result_type(tensor));
  });
}

EighResult eigh(Arg x) {
  return composed(x, "eigh", [](const Tensor& tensor) -> EighResult {
    const Tensor matrices = frontend::as_square_matrices("eigh", tensor);
    const int64_t n = tensor.shape(-1);
    const std::vector<Tensor> parts = factor("eigh", Op::kEigh, 1, matrices, {{{n}}, {{n, n}}});
    return {astype(parts[0], result_type(tensor)),
            astype(swapaxes(parts[1], -2, -1), result_type(tensor))};
  });
}

Tensor eigvalsh(Arg x) {
  return composed(x, "eigvalsh", [](const Tensor& tensor) {
    const Tensor matrices = frontend::as_square_matrices("eigvalsh", tensor);
    return astype(factor("eigvalsh", Op::kEigh, 0, matrices, {{{tensor.shape(-1)}}})[0],
                  result_type(tensor));
  });
}

}  // namespace sluice::linalg
