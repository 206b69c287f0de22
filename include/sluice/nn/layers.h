// Layers. Each is called with what it takes, layer(x), or by its name, layer.forward(x); begins
// with the values that PyTorch's of the same name does, drawn as rand() does; and has its names of
// parameters.
#ifndef SLUICE_NN_LAYERS_H_
#define SLUICE_NN_LAYERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <sluice/convolution.h>
#include <sluice/nn/module.h>
#include <sluice/ops.h>

#pragma GCC visibility push(default)
namespace sluice {
namespace nn {

struct LinearOptions {
  bool bias = true;
};
// x W^T + b: (.., inputs) gives (.., outputs), of weight (outputs, inputs) and bias (outputs).
class Linear : public Module {
 public:
  Linear(int64_t inputs, int64_t outputs, const LinearOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }
  Tensor weight, bias;
};

// An extent for each axis: an int64_t, a Pair or a Triple.
template <typename Extents>
struct ConvOptions {
  Extents stride = 1;
  Padding<Extents> padding = 0;
  Extents dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};
using Conv1dOptions = ConvOptions<int64_t>;
using Conv2dOptions = ConvOptions<Pair>;
using Conv3dOptions = ConvOptions<Triple>;

template <typename Extents>
struct ConvTransposeOptions {
  Extents stride = 1;
  Extents padding = 0;
  Extents output_padding = 0;
  Extents dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};
using ConvTranspose1dOptions = ConvTransposeOptions<int64_t>;
using ConvTranspose2dOptions = ConvTransposeOptions<Pair>;
using ConvTranspose3dOptions = ConvTransposeOptions<Triple>;

namespace detail {

// What convolutions have in common. kConvolve: the function.
template <auto kConvolve, typename Options>
class Convolution : public Module {
 public:
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }
  Tensor weight, bias;

 protected:
  // `name` is for messages.
  Convolution(const char* name, int64_t inputs, int64_t outputs, std::vector<int64_t> window,
              const Options& options, bool has_bias);

 private:
  Options options_;
};

// What pooling layers have in common. kPool: the function.
template <auto kPool, typename Window, typename... Options>
class Pool : public Module {
 public:
  explicit Pool(Window window, const Options&... options) : window_(window), options_(options...) {}
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }

 private:
  Window window_;
  std::tuple<Options...> options_;
};

}  // namespace detail

// conv1d() of weight (outputs, inputs / groups, window), and a bias for each output.
class Conv1d : public detail::Convolution<&conv1d, sluice::Conv1dOptions> {
 public:
  Conv1d(int64_t inputs, int64_t outputs, int64_t window, const Conv1dOptions& options = {});
};
// Likewise, conv2d() of weight (outputs, inputs / groups, rows, columns).
class Conv2d : public detail::Convolution<&conv2d, sluice::Conv2dOptions> {
 public:
  Conv2d(int64_t inputs, int64_t outputs, Pair window, const Conv2dOptions& options = {});
};
// Likewise, conv3d() of weight (outputs, inputs / groups, planes, rows, columns).
class Conv3d : public detail::Convolution<&conv3d, sluice::Conv3dOptions> {
 public:
  Conv3d(int64_t inputs, int64_t outputs, Triple window, const Conv3dOptions& options = {});
};
// Likewise, conv_transpose1d() of weight (inputs, outputs / groups, window).
class ConvTranspose1d
    : public detail::Convolution<&conv_transpose1d, sluice::ConvTranspose1dOptions> {
 public:
  ConvTranspose1d(int64_t inputs, int64_t outputs, int64_t window,
                  const ConvTranspose1dOptions& options = {});
};
// Likewise, conv_transpose2d() of weight (inputs, outputs / groups, rows, columns).
class ConvTranspose2d
    : public detail::Convolution<&conv_transpose2d, sluice::ConvTranspose2dOptions> {
 public:
  ConvTranspose2d(int64_t inputs, int64_t outputs, Pair window,
                  const ConvTranspose2dOptions& options = {});
};
// Likewise, conv_transpose3d() of weight (inputs, outputs / groups, planes, rows, columns).
class ConvTranspose3d
    : public detail::Convolution<&conv_transpose3d, sluice::ConvTranspose3dOptions> {
 public:
  ConvTranspose3d(int64_t inputs, int64_t outputs, Triple window,
                  const ConvTranspose3dOptions& options = {});
};

// The rows of weight (count, width), standard normal, at indices of any shape.
class Embedding : public Module {
 public:
  Embedding(int64_t count, int64_t width);
  Tensor operator()(const Tensor& indices) const;
  Tensor forward(const Tensor& indices) const { return (*this)(indices); }
  Tensor weight;
};

struct NormOptions {
  double eps = 1e-5;
  bool affine = true;  // has weight and bias, which begin as 1 and 0
};
// layer_norm() over the last axis, of this extent.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(int64_t width, const NormOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }
  Tensor weight, bias;

 private:
  double eps_;
};

struct RMSNormOptions {
  double eps = 1e-6;
  bool affine = true;
};
// rms_norm() over the last axis, of this extent; has no bias.
class RMSNorm : public Module {
 public:
  explicit RMSNorm(int64_t width, const RMSNormOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }
  Tensor weight;

 private:
  double eps_;
};

// group_norm() of so many groups.
class GroupNorm : public Module {
 public:
  GroupNorm(int64_t groups, int64_t channels, const NormOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }
  Tensor weight, bias;

 private:
  int64_t groups_;
  double eps_;
};

struct BatchNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;  // the share of a batch in the running statistics
  bool affine = true;
};
// batch_norm() over axis 1: in training by mean and (biased) variance of the batch, which the
// running statistics take a share of (the variance's unbiased); in evaluation by those. A call in
// training changes the buffers, even of a const object.
class BatchNorm : public Module {
 public:
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }
  Tensor weight, bias;
  mutable Tensor running_mean, running_var, num_batches_tracked;

 protected:
  BatchNorm(const char* name, int least_rank, int greatest_rank, int64_t channels,
            const BatchNormOptions& options);

 private:
  const char* name_;
  int least_rank_, greatest_rank_;
  BatchNormOptions options_;
};
// Of (n, channels) or (n, channels, length).
class BatchNorm1d : public BatchNorm {
 public:
  explicit BatchNorm1d(int64_t channels, const BatchNormOptions& options = {})
      : BatchNorm("BatchNorm1d", 2, 3, channels, options) {}
};
// Of (n, channels, height, width).
class BatchNorm2d : public BatchNorm {
 public:
  explicit BatchNorm2d(int64_t channels, const BatchNormOptions& options = {})
      : BatchNorm("BatchNorm2d", 4, 4, channels, options) {}
};

// dropout() in training, x itself in evaluation.
class Dropout : public Module {
 public:
  explicit Dropout(double p = 0.5);
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }

 private:
  double p_;
};

// The functions of these names.
class MaxPool1d : public detail::Pool<&max_pool1d, int64_t, Pool1dOptions> {
 public:
  explicit MaxPool1d(int64_t window, const Pool1dOptions& options = {}) : Pool(window, options) {}
};
class MaxPool2d : public detail::Pool<&max_pool2d, Pair, Pool2dOptions> {
 public:
  explicit MaxPool2d(Pair window, const Pool2dOptions& options = {}) : Pool(window, options) {}
};
class MaxPool3d : public detail::Pool<&max_pool3d, Triple, Pool3dOptions> {
 public:
  explicit MaxPool3d(Triple window, const Pool3dOptions& options = {}) : Pool(window, options) {}
};
class AvgPool1d : public detail::Pool<&avg_pool1d, int64_t, Pool1dOptions> {
 public:
  explicit AvgPool1d(int64_t window, const Pool1dOptions& options = {}) : Pool(window, options) {}
};
class AvgPool2d : public detail::Pool<&avg_pool2d, Pair, Pool2dOptions> {
 public:
  explicit AvgPool2d(Pair window, const Pool2dOptions& options = {}) : Pool(window, options) {}
};
class AvgPool3d : public detail::Pool<&avg_pool3d, Triple, Pool3dOptions> {
 public:
  explicit AvgPool3d(Triple window, const Pool3dOptions& options = {}) : Pool(window, options) {}
};
class AdaptiveAvgPool1d : public detail::Pool<&adaptive_avg_pool1d, int64_t> {
 public:
  explicit AdaptiveAvgPool1d(int64_t size) : Pool(size) {}
};
class AdaptiveAvgPool2d : public detail::Pool<&adaptive_avg_pool2d, Pair> {
 public:
  explicit AdaptiveAvgPool2d(Pair size) : Pool(size) {}
};
class AdaptiveAvgPool3d : public detail::Pool<&adaptive_avg_pool3d, Triple> {
 public:
  explicit AdaptiveAvgPool3d(Triple size) : Pool(size) {}
};
class AdaptiveMaxPool1d : public detail::Pool<&adaptive_max_pool1d, int64_t> {
 public:
  explicit AdaptiveMaxPool1d(int64_t size) : Pool(size) {}
};
class AdaptiveMaxPool2d : public detail::Pool<&adaptive_max_pool2d, Pair> {
 public:
  explicit AdaptiveMaxPool2d(Pair size) : Pool(size) {}
};
class AdaptiveMaxPool3d : public detail::Pool<&adaptive_max_pool3d, Triple> {
 public:
  explicit AdaptiveMaxPool3d(Triple size) : Pool(size) {}
};

// pixel_shuffle() by this factor.
class PixelShuffle : public detail::Pool<&pixel_shuffle, int64_t> {
 public:
  using Pool::Pool;
};

struct UpsampleOptions {
  std::string mode = "nearest";
  bool align_corners = false;
};
// interpolate() of the axes after the first two, each to so many times its extent.
class Upsample : public Module {
 public:
  explicit Upsample(int64_t factor, UpsampleOptions options = {});
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }

 private:
  int64_t factor_;
  UpsampleOptions options_;
};

// Axes first to last become one.
class Flatten : public Module {
 public:
  explicit Flatten(int first = 1, int last = -1) : first_(first), last_(last) {}
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }

 private:
  int first_, last_;
};

}  // namespace nn
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_NN_LAYERS_H_
