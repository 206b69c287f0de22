// softmax() and the layers that shift and scale by means and variances.
#include <utility>

#include <sluice/autograd.h>
#include <sluice/ops.h>
#include "frontend/call.h"
#include "frontend/reduce.h"

namespace sluice {
namespace {

using frontend::describe;
using frontend::fail;
using frontend::mean_of;
using frontend::reduce;
using frontend::with_call;
using fusion::Op;

// In the type that statistics are computed in.
Tensor widened(const Tensor& x) { return astype(x, frontend::statistic_dtype(x.dtype())); }

// x - max(x) along `axis`, in the type it is computed in.
Tensor shifted(const char* name, const Tensor& x, int axis) {
  Tensor values = widened(x);
  if (x.shape()[axis] == 0) return values;
  // The result is the same whatever is subtracted.
  const Tensor greatest =
      reduce(name, Op::kMax, stop_gradient(values), {axis}, true, values.dtype());
  return std::move(values) - greatest;
}

// Throws unless `y`, what the op calls `what`, has one element for each position on `axis` of `x`.
void check_one_each(const char* name, const char* what, const Tensor& y, const Tensor& x,
                    int axis) {
  frontend::node_of(name, y);
  if (y.ndim() == 1 && y.shape()[0] == x.shape()[axis]) return;
  fail(name, what, " ", describe(y), " has not one element for each of axis ", axis, " of ",
       describe(x));
}

// weight * x + bias, of which either may be left out, by elements of the last axis.
Tensor scaled(const char* name, Tensor x, const Tensor& like, const Arg& weight, const Arg* bias) {
  const int last = like.ndim() - 1;
  const DType dtype = x.dtype();
  if (weight.tensor().defined()) {
    check_one_each(name, "weight", weight.tensor(), like, last);
    x = std::move(x) * astype(weight.tensor(), dtype);
  }
  if (bias != nullptr && bias->tensor().defined()) {
    check_one_each(name, "bias", bias->tensor(), like, last);
    x = std::move(x) + astype(bias->tensor(), dtype);
  }
  return x;
}

void check_has_axis(const char* name, const Tensor& x, int axis) {
  if (x.ndim() <= axis) fail(name, describe(x), " has no axis ", axis);
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

Tensor layer_norm(Arg x, Arg weight, Arg bias, double eps) {
  constexpr const char* kName = "layer_norm";
  Tensor result = with_call(x, kName, [&](const Tensor& tensor) {
    check_has_axis(kName, tensor, 0);
    const int last = tensor.ndim() - 1;
    const Tensor values = widened(tensor);
    const Tensor difference = values - mean_of(kName, values, {last}, true);
    const Tensor variance = mean_of(kName, square(difference), {last}, true);
    Tensor normal = difference * rsqrt(variance + Scalar(eps));
    return astype(scaled(kName, std::move(normal), tensor, weight, &bias),
                  float_type(tensor.dtype()));
  });
  weight.release();
  bias.release();
  return result;
}

Tensor rms_norm(Arg x, Arg weight, double eps) {
  constexpr const char* kName = "rms_norm";
  Tensor result = with_call(x, kName, [&](const Tensor& tensor) {
    check_has_axis(kName, tensor, 0);
    const Tensor values = widened(tensor);
    const Tensor mean_square = mean_of(kName, square(values), {tensor.ndim() - 1}, true);
    Tensor normal = values * rsqrt(mean_square + Scalar(eps));
    return astype(scaled(kName, std::move(normal), tensor, weight, nullptr),
                  float_type(tensor.dtype()));
  });
  weight.release();
  return result;
}

Tensor batch_norm(Arg x, Arg mean, Arg var, Arg weight, Arg bias, double eps) {
  constexpr const char* kName = "batch_norm";
  Tensor result = with_call(x, kName, [&](const Tensor& tensor) {
    check_has_axis(kName, tensor, 1);
    const Tensor values = widened(tensor);
    std::vector<int64_t> extents(tensor.ndim() - 1, 1);
    extents[0] = tensor.shape()[1];
    const Shape channels(extents);
    const auto by_channel = [&](const char* what, const Arg& arg) {
      check_one_each(kName, what, arg.tensor(), tensor, 1);
      return reshape(astype(arg.tensor(), values.dtype()), channels);
    };
    Tensor scale = rsqrt(by_channel("var", var) + Scalar(eps));
    if (weight.tensor().defined()) scale = std::move(scale) * by_channel("weight", weight);
    Tensor normal = (values - by_channel("mean", mean)) * std::move(scale);
    if (bias.tensor().defined()) normal = std::move(normal) + by_channel("bias", bias);
    return astype(std::move(normal), float_type(tensor.dtype()));
  });
  for (const Arg* arg : {&mean, &var, &weight, &bias}) arg->release();
  return result;
}

}  // namespace sluice
