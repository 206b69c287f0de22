// Attention, and the noise that training adds.
#include <cmath>
#include <limits>
#include <utility>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/call.h"

namespace sluice {
namespace {

using frontend::describe;
using frontend::fail;
using frontend::with_call;

constexpr Scalar kNever = -std::numeric_limits<double>::infinity();  // a score

// The scores, but for pairs of a query and a key after it.
Tensor causal_only(Tensor scores) {
  const auto positions = [&](int axis) {
    return arange(0, scores.shape(axis), 1, DType::kInt64, scores.device());
  };
  const Tensor queries = positions(-2), keys = positions(-1);
  return where(expand_dims(queries, 1) >= keys, std::move(scores), kNever);
}

}  // namespace

Tensor dropout(Arg x, double p) {
  return with_call(x, "dropout", [&](const Tensor& tensor) {
    if (!(p >= 0 && p <= 1)) fail("dropout", "p is ", p, ", not within [0, 1]");
    const Tensor values = astype(tensor, float_type(tensor.dtype()));
    const Tensor draw = rand(tensor.shape(), DType::kFloat32, tensor.device());
    return where(draw >= Scalar(p), values * Scalar(1 / (1 - p)), Scalar(0));
  });
}

Tensor scaled_dot_product_attention(Arg q, Arg k, Arg v, const Tensor& mask, bool causal) {
  constexpr const char* kName = "scaled_dot_product_attention";
  Tensor result = with_call(q, k, kName, [&](const Tensor& queries, const Tensor& keys) {
    frontend::node_of(kName, v.tensor());
    const Tensor& values = v.tensor();
    for (const Tensor* x : {&queries, &keys, &values}) {
      if (x->ndim() < 2) fail(kName, describe(*x), " has not the axes (.., length, depth)");
    }
    if (queries.shape(-1) != keys.shape(-1) || keys.shape(-2) != values.shape(-2)) {
      fail(kName, "queries ", describe(queries), ", keys ", describe(keys), " and values ",
           describe(values), " do not agree in depth or length");
    }
    const DType result =
        float_type(promote(promote(queries.dtype(), keys.dtype()), values.dtype()));
    const DType dtype = compute_type(result);
    const double scale = 1 / std::sqrt(static_cast<double>(queries.shape(-1)));
    Tensor scores =
        astype(matmul(astype(queries, result), swapaxes(astype(keys, result), -1, -2)), dtype) *
        Scalar(scale);
    if (mask.defined()) {
      scores = mask.dtype() == DType::kBool ? where(mask, std::move(scores), kNever)
                                            : std::move(scores) + astype(mask, dtype);
    }
    if (causal) scores = causal_only(std::move(scores));
    return matmul(astype(softmax(std::move(scores)), result), astype(values, result));
  });
  v.release();
  return result;
}

}  // namespace sluice
