#include <sluice/nn/layers.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <sluice/creation.h>
#include <sluice/nn/init.h>
#include "frontend/checks.h"
#include "frontend/layers/windows.h"
#include "frontend/nn/leaf.h"
#include "frontend/nn/observed.h"

namespace sluice::nn {
namespace {

using frontend::describe;
using frontend::fail;
using frontend::observed;

void check_positive(const char* name, const char* what, int64_t extent) {
  if (extent < 1) fail(name, what, " is ", extent, ", not positive");
}

// PyTorch's: uniform within 1 / sqrt(fan in), the bias too.
struct Values {
  Tensor weight, bias;
};
Values drawn(const Shape& shape, int64_t outputs, bool has_bias) {
  const double fan_in = static_cast<double>(shape.numel()) / static_cast<double>(shape[0]);
  const double bound = 1 / std::sqrt(std::max(fan_in, 1.0));
  return {init::uniform(shape, -bound, bound),
          has_bias ? init::uniform({outputs}, -bound, bound) : Tensor()};
}
Values drawn_convolution(const char* name, int64_t inputs, int64_t outputs, int64_t groups,
                         std::vector<int64_t> window, bool is_transposed, bool has_bias) {
  check_positive(name, "groups", groups);
  check_positive(name, "the number of input channels", inputs);
  check_positive(name, "the number of output channels", outputs);
  if (inputs % groups != 0 || outputs % groups != 0) {
    fail(name, groups, " groups do not divide ", inputs, " input and ", outputs,
         " output channels");
  }
  std::vector<int64_t> dims = {is_transposed ? inputs : outputs,
                               (is_transposed ? outputs : inputs) / groups};
  for (const int64_t extent : window) {
    check_positive(name, "an extent of the window", extent);
    dims.push_back(extent);
  }
  return drawn(Shape(dims), outputs, has_bias);
}

// `bias`, if there is one, added along axis 1 of x.
Tensor biased(Tensor x, const Tensor& bias) {
  if (!bias.defined()) return x;
  std::vector<int64_t> dims(x.ndim() - 1, 1);
  dims[0] = bias.numel();
  return std::move(x) + reshape(bias, Shape(dims));
}

}  // namespace

Linear::Linear(int64_t inputs, int64_t outputs, const LinearOptions& options) {
  check_positive("Linear", "the number of inputs", inputs);
  check_positive("Linear", "the number of outputs", outputs);
  Values values = drawn({outputs, inputs}, outputs, options.bias);
  weight = std::move(values.weight);
  bias = std::move(values.bias);
  register_parameter("weight", weight);
  register_parameter("bias", bias);
}

Tensor Linear::operator()(const Tensor& x) const {
  if (x.ndim() < 1 || x.shape(-1) != weight.shape(1)) {
    fail("Linear", describe(x), " has not ", weight.shape(1), " inputs along its last axis");
  }
  Tensor result = matmul(x, transpose(weight));
  if (bias.defined()) result = std::move(result) + bias;
  return observed(*this, std::move(result));
}

namespace detail {
namespace {

template <typename Extents>
sluice::ConvOptions<Extents> without_bias(const ConvOptions<Extents>& options) {
  return {options.stride, options.padding, options.dilation, options.groups};
}
template <typename Extents>
sluice::ConvTransposeOptions<Extents> without_bias(const ConvTransposeOptions<Extents>& options) {
  return {options.stride, options.padding, options.output_padding, options.dilation,
          options.groups};
}

}  // namespace

template <auto kConvolve, typename Options>
Convolution<kConvolve, Options>::Convolution(const char* name, int64_t inputs, int64_t outputs,
                                             std::vector<int64_t> window, const Options& options,
                                             bool has_bias)
    : options_(options) {
  constexpr bool kIsTransposed = requires { options.output_padding; };
  Values values = drawn_convolution(name, inputs, outputs, options.groups, std::move(window),
                                    kIsTransposed, has_bias);
  weight = std::move(values.weight);
  bias = std::move(values.bias);
  register_parameter("weight", weight);
  register_parameter("bias", bias);
}

template <auto kConvolve, typename Options>
Tensor Convolution<kConvolve, Options>::operator()(const Tensor& x) const {
  return observed(*this, biased(kConvolve(x, weight, options_), bias));
}

template <auto kPool, typename Window, typename... Options>
Tensor Pool<kPool, Window, Options...>::operator()(const Tensor& x) const {
  return observed(
      *this, std::apply([&](const Options&... options) { return kPool(x, window_, options...); },
                        options_));
}

template class Convolution<&conv1d, sluice::Conv1dOptions>;
template class Convolution<&conv2d, sluice::Conv2dOptions>;
template class Convolution<&conv3d, sluice::Conv3dOptions>;
template class Convolution<&conv_transpose1d, sluice::ConvTranspose1dOptions>;
template class Convolution<&conv_transpose2d, sluice::ConvTranspose2dOptions>;
template class Convolution<&conv_transpose3d, sluice::ConvTranspose3dOptions>;
template class Pool<&max_pool1d, int64_t, Pool1dOptions>;
template class Pool<&max_pool2d, Pair, Pool2dOptions>;
template class Pool<&max_pool3d, Triple, Pool3dOptions>;
template class Pool<&avg_pool1d, int64_t, Pool1dOptions>;
template class Pool<&avg_pool2d, Pair, Pool2dOptions>;
template class Pool<&avg_pool3d, Triple, Pool3dOptions>;
template class Pool<&adaptive_avg_pool1d, int64_t>;
template class Pool<&adaptive_avg_pool2d, Pair>;
template class Pool<&adaptive_avg_pool3d, Triple>;
template class Pool<&adaptive_max_pool1d, int64_t>;
template class Pool<&adaptive_max_pool2d, Pair>;
template class Pool<&adaptive_max_pool3d, Triple>;
template class Pool<&pixel_shuffle, int64_t>;

}  // namespace detail

Conv1d::Conv1d(int64_t inputs, int64_t outputs, int64_t window, const Conv1dOptions& options)
    : Convolution("Conv1d", inputs, outputs, frontend::extents_of(window),
                  detail::without_bias(options), options.bias) {}
Conv2d::Conv2d(int64_t inputs, int64_t outputs, Pair window, const Conv2dOptions& options)
    : Convolution("Conv2d", inputs, outputs, frontend::extents_of(window),
                  detail::without_bias(options), options.bias) {}
Conv3d::Conv3d(int64_t inputs, int64_t outputs, Triple window, const Conv3dOptions& options)
    : Convolution("Conv3d", inputs, outputs, frontend::extents_of(window),
                  detail::without_bias(options), options.bias) {}
ConvTranspose1d::ConvTranspose1d(int64_t inputs, int64_t outputs, int64_t window,
                                 const ConvTranspose1dOptions& options)
    : Convolution("ConvTranspose1d", inputs, outputs, frontend::extents_of(window),
                  detail::without_bias(options), options.bias) {}
ConvTranspose2d::ConvTranspose2d(int64_t inputs, int64_t outputs, Pair window,
                                 const ConvTranspose2dOptions& options)
    : Convolution("ConvTranspose2d", inputs, outputs, frontend::extents_of(window),
                  detail::without_bias(options), options.bias) {}
ConvTranspose3d::ConvTranspose3d(int64_t inputs, int64_t outputs, Triple window,
                                 const ConvTranspose3dOptions& options)
    : Convolution("ConvTranspose3d", inputs, outputs, frontend::extents_of(window),
                  detail::without_bias(options), options.bias) {}

Embedding::Embedding(int64_t count, int64_t width) : weight(init::normal({count, width})) {
  register_parameter("weight", weight);
}

Tensor Embedding::operator()(const Tensor& indices) const {
  return observed(*this, embedding(indices, weight));
}

LayerNorm::LayerNorm(int64_t width, const NormOptions& options) : eps_(options.eps) {
  if (options.affine) {
    weight = ones({width});
    bias = zeros({width});
  }
  register_parameter("weight", weight);
  register_parameter("bias", bias);
}

Tensor LayerNorm::operator()(const Tensor& x) const {
  return observed(*this, layer_norm(x, weight, bias, eps_));
}

RMSNorm::RMSNorm(int64_t width, const RMSNormOptions& options) : eps_(options.eps) {
  if (options.affine) weight = ones({width});
  register_parameter("weight", weight);
}

Tensor RMSNorm::operator()(const Tensor& x) const {
  return observed(*this, rms_norm(x, weight, eps_));
}

GroupNorm::GroupNorm(int64_t groups, int64_t channels, const NormOptions& options)
    : groups_(groups), eps_(options.eps) {
  if (groups < 1 || channels % groups != 0) {
    fail("GroupNorm", groups, " groups do not divide ", channels, " channels");
  }
  if (options.affine) {
    weight = ones({channels});
    bias = zeros({channels});
  }
  register_parameter("weight", weight);
  register_parameter("bias", bias);
}

Tensor GroupNorm::operator()(const Tensor& x) const {
  return observed(*this, group_norm(x, groups_, weight, bias, eps_));
}

BatchNorm::BatchNorm(const char* name, int least_rank, int greatest_rank, int64_t channels,
                     const BatchNormOptions& options)
    : running_mean(zeros({channels})),
      running_var(ones({channels})),
      num_batches_tracked(zeros({}, DType::kInt64)),
      name_(name),
      least_rank_(least_rank),
      greatest_rank_(greatest_rank),
      options_(options) {
  if (options.affine) {
    weight = ones({channels});
    bias = zeros({channels});
  }
  register_parameter("weight", weight);
  register_parameter("bias", bias);
  register_buffer("running_mean", running_mean);
  register_buffer("running_var", running_var);
  register_buffer("num_batches_tracked", num_batches_tracked);
}

Tensor BatchNorm::operator()(const Tensor& x) const {
  if (x.ndim() < least_rank_ || x.ndim() > greatest_rank_ || x.shape(1) != running_mean.numel()) {
    fail(name_, describe(x), " is not (n, ", running_mean.numel(),
         greatest_rank_ == 4 ? ", height, width)" : ") or (.., length)");
  }
  if (!is_training()) {
    return observed(*this, batch_norm(x, running_mean, running_var, weight, bias, options_.eps));
  }
  std::vector<int> axes = {0};
  for (int axis = 2; axis < x.ndim(); ++axis) axes.push_back(axis);
  const double count = static_cast<double>(x.numel()) / static_cast<double>(x.shape(1));
  const Tensor values = astype(x, compute_type(float_type(x.dtype())));
  // Axes are kept, as in batch_norm(), so that both subtract the mean once.
  const Tensor mean_kept = mean(values, axes, /*keepdims=*/true);
  const Tensor mean_now = reshape(mean_kept, running_mean.shape());
  const Tensor var_now = mean(square(values - mean_kept), axes);
  const auto blended = [&](const Tensor& running, const Tensor& now, double factor) {
    const Tensor share = astype(frontend::detached(now), running.dtype());
    return running * Scalar(1 - options_.momentum) + share * Scalar(options_.momentum * factor);
  };
  running_mean = blended(running_mean, mean_now, 1);
  running_var = blended(running_var, var_now, count > 1 ? count / (count - 1) : 1);
  num_batches_tracked = num_batches_tracked + Scalar(1);
  return observed(*this, batch_norm(x, mean_now, var_now, weight, bias, options_.eps));
}

Dropout::Dropout(double p) : p_(p) {
  if (!(p >= 0 && p <= 1)) fail("Dropout", "p is ", p, ", not within [0, 1]");
}

Tensor Dropout::operator()(const Tensor& x) const {
  return observed(*this, is_training() && p_ > 0 ? dropout(x, p_) : x);
}

Upsample::Upsample(int64_t factor, UpsampleOptions options)
    : factor_(factor), options_(std::move(options)) {
  check_positive("Upsample", "the factor", factor);
}

Tensor Upsample::operator()(const Tensor& x) const {
  if (x.ndim() < 3) fail("Upsample", describe(x), " has not the axes (n, c, ..)");
  std::vector<int64_t> size(x.shape().begin() + 2, x.shape().end());
  for (int64_t& extent : size) extent *= factor_;
  return observed(*this, interpolate(x, Shape(size), options_.mode, options_.align_corners));
}

Tensor Flatten::operator()(const Tensor& x) const {
  const int first = frontend::check_axis("Flatten", first_, x.ndim(), x);
  const int last = frontend::check_axis("Flatten", last_, x.ndim(), x);
  std::vector<int64_t> dims(x.shape().begin(), x.shape().begin() + first);
  int64_t product = 1;
  for (int axis = first; axis <= last; ++axis) product *= x.shape()[axis];
  dims.push_back(product);
  dims.insert(dims.end(), x.shape().begin() + last + 1, x.shape().end());
  return observed(*this, reshape(x, Shape(dims)));
}

}  // namespace sluice::nn
