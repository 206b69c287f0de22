// Activation functions that are no ops of their own.
#include <cmath>
#include <numbers>
#include <utility>

#include <sluice/ops.h>
#include "frontend/call.h"
#include "frontend/reduce.h"

namespace sluice {
namespace {

using frontend::describe;
using frontend::fail;
using frontend::with_call;

// f of x, computed as statistics are and rounded once.
template <typename F>
Tensor activated(const char* name, const Arg& x, F f) {
  return with_call(x, name, [&](const Tensor& tensor) {
    const DType result = float_type(tensor.dtype());
    return astype(f(astype(tensor, compute_type(result))), result);
  });
}

// x where it is positive, else f(min(x, 0)): gradients of f where x is positive could be infinite,
// and 0 times that is NaN.
template <typename F>
Tensor positive_or(const Tensor& x, F f) {
  return where(x > Scalar(0), x, f(minimum(x, Scalar(0))));
}

// min(max(x + 3, 0), 6) / 6.
Tensor hard_gate(const Tensor& x) {
  return clip(x + Scalar(3), Scalar(0), Scalar(6)) * Scalar(1.0 / 6);
}

}  // namespace

Tensor leaky_relu(Arg x, double slope) {
  return activated("leaky_relu", x, [&](const Tensor& values) {
    return where(values > Scalar(0), values, values * Scalar(slope));
  });
}

Tensor elu(Arg x, double alpha) {
  return activated("elu", x, [&](const Tensor& values) {
    return positive_or(values,
                       [&](Tensor least) { return expm1(std::move(least)) * Scalar(alpha); });
  });
}

Tensor selu(Arg x) {
  constexpr double kAlpha = 1.6732632423543772, kScale = 1.0507009873554805;
  return activated("selu", x, [](const Tensor& values) {
    return positive_or(values,
                       [](Tensor least) { return expm1(std::move(least)) * Scalar(kAlpha); }) *
           Scalar(kScale);
  });
}

Tensor celu(Arg x, double alpha) {
  if (alpha == 0) fail("celu", "alpha is 0");
  return activated("celu", x, [&](const Tensor& values) {
    return positive_or(values, [&](Tensor least) {
      return expm1(std::move(least) / Scalar(alpha)) * Scalar(alpha);
    });
  });
}

Tensor hardsigmoid(Arg x) { return activated("hardsigmoid", x, hard_gate); }

Tensor hardswish(Arg x) {
  return activated("hardswish", x, [](const Tensor& values) { return values * hard_gate(values); });
}

Tensor hardtanh(Arg x, double low, double high) {
  return activated("hardtanh", x,
                   [&](const Tensor& values) { return clip(values, Scalar(low), Scalar(high)); });
}

Tensor relu6(Arg x) {
  return activated("relu6", x,
                   [](const Tensor& values) { return clip(values, Scalar(0), Scalar(6)); });
}

Tensor softsign(Arg x) {
  return activated("softsign", x,
                   [](const Tensor& values) { return values / (abs(values) + Scalar(1)); });
}

Tensor log_sigmoid(Arg x) {
  return activated("log_sigmoid", x, [](const Tensor& values) { return -softplus(-values); });
}

Tensor gelu_tanh(Arg x) {
  constexpr double kCubic = 0.044715;
  const double scale = std::sqrt(2 / std::numbers::pi);
  return activated("gelu_tanh", x, [&](const Tensor& values) {
    const Tensor inner = (values + values * square(values) * Scalar(kCubic)) * Scalar(scale);
    return values * Scalar(0.5) * (tanh(inner) + Scalar(1));
  });
}

Tensor glu(Arg x, int axis) {
  return activated("glu", x, [&](const Tensor& values) {
    axis = frontend::check_axis("glu", axis, values.ndim(), values);
    const int64_t half = values.shape()[axis] / 2;
    if (values.shape()[axis] % 2 != 0) {
      fail("glu", "axis ", axis, " of ", describe(values), " is not even");
    }
    return slice(values, axis, 0, half) * sigmoid(slice(values, axis, half, 2 * half));
  });
}

Tensor prelu(Arg x, Arg weight) {
  Tensor result = activated("prelu", x, [&](const Tensor& values) {
    const Tensor& slopes = weight.tensor();
    frontend::node_of("prelu", slopes);
    const int64_t count = slopes.numel();
    const bool has_channels = values.ndim() > 1 && count == values.shape()[1];
    if (slopes.ndim() > 1 || (count != 1 && !has_channels)) {
      fail("prelu", "weight ", describe(slopes),
           " has neither one element nor one for each of axis "
           "1 of ",
           describe(values));
    }
    std::vector<int64_t> extents(has_channels ? values.ndim() - 1 : 0, 1);
    if (has_channels) extents[0] = count;
    const Tensor slope = reshape(astype(slopes, values.dtype()), Shape(extents));
    return where(values > Scalar(0), values, values * slope);
  });
  weight.release();
  return result;
}

}  // namespace sluice
