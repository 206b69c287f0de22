#include <utility>

#include <sluice/ops.h>
#include "engine/observe/call_site.h"
#include "frontend/checks.h"
#include "frontend/reduce.h"

namespace sluice {
namespace {

using fusion::Op;

// x - max(x) along `axis`, in the type it is computed in.
struct Shifted {
  Tensor values;
  int axis;
};

Shifted shifted(const char* name, Arg x, int axis) {
  const Tensor& tensor = x.tensor();
  frontend::node_of(name, tensor);
  axis = frontend::check_axis(name, axis, tensor.ndim(), tensor);
  Tensor values = astype(tensor, compute_type(float_type(tensor.dtype())));
  if (tensor.shape()[axis] != 0) {
    const Tensor greatest = frontend::reduce(name, Op::kMax, values, {axis}, true, values.dtype());
    values = std::move(values) - greatest;
  }
  return {std::move(values), axis};
}

}  // namespace

Tensor softmax(Arg x, int axis) {
  const engine::CallSite site(x.where());
  const DType result = float_type(x.tensor().defined() ? x.tensor().dtype() : DType::kFloat32);
  const Shifted s = shifted("softmax", x, axis);
  const Tensor e = exp(s.values);
  const Tensor total = frontend::reduce("softmax", Op::kSum, e, {s.axis}, true, e.dtype());
  Tensor y = astype(e / total, result);
  x.release();
  return y;
}

Tensor log_softmax(Arg x, int axis) {
  const engine::CallSite site(x.where());
  const DType result = float_type(x.tensor().defined() ? x.tensor().dtype() : DType::kFloat32);
  const Shifted s = shifted("log_softmax", x, axis);
  const Tensor total =
      frontend::reduce("log_softmax", Op::kSum, exp(s.values), {s.axis}, true, s.values.dtype());
  Tensor y = astype(s.values - log(total), result);
  x.release();
  return y;
}

}  // namespace sluice
