#include <utility>

#include <sluice/ops.h>
#include "frontend/call.h"
#include "frontend/reduce.h"

namespace sluice {
namespace {

using frontend::reduce;
using frontend::with_call;
using fusion::Op;

// x - max(x) along `axis`, in the type it is computed in.
Tensor shifted(const char* name, const Tensor& x, int axis) {
  Tensor values = astype(x, compute_type(float_type(x.dtype())));
  if (x.shape()[axis] == 0) return values;
  const Tensor greatest = reduce(name, Op::kMax, values, {axis}, true, values.dtype());
  return std::move(values) - greatest;
}

}  // namespace

Tensor softmax(Arg x, int axis) {
  return with_call(x, "softmax", [&](const Tensor& tensor) {
    axis = frontend::check_axis("softmax", axis, tensor.ndim(), tensor);
    const Tensor e = exp(shifted("softmax", tensor, axis));
    const Tensor total = reduce("softmax", Op::kSum, e, {axis}, true, e.dtype());
    return astype(e / total, float_type(tensor.dtype()));
  });
}

Tensor log_softmax(Arg x, int axis) {
  return with_call(x, "log_softmax", [&](const Tensor& tensor) {
    axis = frontend::check_axis("log_softmax", axis, tensor.ndim(), tensor);
    const Tensor values = shifted("log_softmax", tensor, axis);
    const Tensor total = reduce("log_softmax", Op::kSum, exp(values), {axis}, true, values.dtype());
    return astype(values - log(total), float_type(tensor.dtype()));
  });
}

}  // namespace sluice
