// softmax() and the layers that shift and scale by means and variances.
#include <algorithm>
#include <utility>
#include <vector>

#include <sluice/autograd.h>
#include <sluice/ops.h>
#include "frontend/autograd/tape.h"
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

Tensor sum_along(const char* name, const Tensor& x, int axis) {
  return reduce(name, Op::kSum, x, {axis}, true, x.dtype());
}

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

// `y`, what the op calls `what`, to be broadcast along all axes of `like` but `axis`.
Tensor one_each(const char* name, const char* what, const Tensor& y, const Tensor& like, int axis,
                DType dtype) {
  check_one_each(name, what, y, like, axis);
  // Of the rank of `like`, as a reduction that keeps its axes: what is computed of both is then
  // one.
  std::vector<int64_t> extents(like.ndim(), 1);
  extents[axis] = like.shape()[axis];
  return reshape(astype(y, dtype), Shape(extents));
}

// weight * x + bias, of which either may be left out, by elements of the last axis.
Tensor scaled(const char* name, Tensor x, const Tensor& like, const Arg& weight, const Arg* bias) {
  const int axis = like.ndim() - 1;
  const DType dtype = x.dtype();
  if (weight.tensor().defined()) {
    x = std::move(x) * one_each(name, "weight", weight.tensor(), like, axis, dtype);
  }
  if (bias != nullptr && bias->tensor().defined()) {
    x = std::move(x) + one_each(name, "bias", bias->tensor(), like, axis, dtype);
  }
  return x;
}

void check_has_axis(const char* name, const Tensor& x, int axis) {
  if (x.ndim() <= axis) fail(name, describe(x), " has no axis ", axis);
}

// x normalised within each of `groups` groups of channels (axis 1), then scaled by channel.
Tensor normal_groups(const char* name, const Tensor& x, int64_t groups, const Arg& weight,
                     const Arg& bias, double eps) {
  check_has_axis(name, x, 1);
  if (groups < 1 || x.shape()[1] % groups != 0) {
    fail(name, groups, " groups do not divide axis 1 of ", describe(x));
  }
  const int64_t each = x.shape()[1] / groups;
  const int64_t size = x.numel() == 0 ? 0 : x.numel() / x.shape()[0] / x.shape()[1];
  const Tensor values = reshape(widened(x), Shape{x.shape()[0], groups, each, size});
  const auto by_channel = [&](const char* what, const Arg& arg) {
    check_one_each(name, what, arg.tensor(), x, 1);
    return reshape(astype(arg.tensor(), values.dtype()), Shape{groups, each, 1});
  };
  const Tensor difference = values - mean_of(name, values, {2, 3}, true);
  const Tensor variance = mean_of(name, square(difference), {2, 3}, true);
  Tensor normal = difference * rsqrt(variance + Scalar(eps));
  if (weight.tensor().defined()) normal = std::move(normal) * by_channel("weight", weight);
  if (bias.tensor().defined()) normal = std::move(normal) + by_channel("bias", bias);
  return astype(reshape(std::move(normal), x.shape()), float_type(x.dtype()));
}

}  // namespace

Tensor softmax(Arg x, int axis) {
  constexpr const char* kName = "softmax";
  return with_call(x, kName, [&](const Tensor& tensor) {
    axis = frontend::check_axis(kName, axis, tensor.ndim(), tensor);
    const Tensor values = widened(tensor);
    const Tensor e = exp(shifted(kName, values, axis));
    Tensor shares = e / sum_along(kName, e, axis);
    // By the ops above, the gradient would read the exponentials as well.
    frontend::set_rule(shares, {&values, 1}, [axis](const Tensor& g, const Tensor& y) {
      const Tensor parts = g * y;
      return std::vector<Tensor>{parts - y * sum_along("softmax", parts, axis)};
    });
    return astype(std::move(shares), float_type(tensor.dtype()));
  });
}

Tensor log_softmax(Arg x, int axis) {
  return with_call(x, "log_softmax", [&](const Tensor& tensor) {
    axis = frontend::check_axis("log_softmax", axis, tensor.ndim(), tensor);
    const Tensor values = shifted("log_softmax", tensor, axis);
    const Tensor total = sum_along("log_softmax", exp(values), axis);
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

Tensor group_norm(Arg x, int64_t groups, Arg weight, Arg bias, double eps) {
  Tensor result = with_call(x, "group_norm", [&](const Tensor& tensor) {
    return normal_groups("group_norm", tensor, groups, weight, bias, eps);
  });
  for (const Arg* arg : {&weight, &bias}) arg->release();
  return result;
}

Tensor instance_norm(Arg x, Arg weight, Arg bias, double eps) {
  Tensor result = with_call(x, "instance_norm", [&](const Tensor& tensor) {
    check_has_axis("instance_norm", tensor, 1);
    const int64_t channels = std::max<int64_t>(tensor.shape()[1], 1);
    return normal_groups("instance_norm", tensor, channels, weight, bias, eps);
  });
  for (const Arg* arg : {&weight, &bias}) arg->release();
  return result;
}

Tensor batch_norm(Arg x, Arg mean, Arg var, Arg weight, Arg bias, double eps) {
  constexpr const char* kName = "batch_norm";
  Tensor result = with_call(x, kName, [&](const Tensor& tensor) {
    check_has_axis(kName, tensor, 1);
    const Tensor values = widened(tensor);
    const auto by_channel = [&](const char* what, const Arg& arg) {
      return one_each(kName, what, arg.tensor(), tensor, 1, values.dtype());
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
