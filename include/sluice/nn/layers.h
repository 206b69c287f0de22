// Layers. Each is called with what it takes, layer(x), or by its name, layer.forward(x); begins
// with the values that PyTorch's of the same name does, drawn as rand() does; and has its names of
// parameters.
#ifndef SLUICE_NN_LAYERS_H_
#define SLUICE_NN_LAYERS_H_

#include <cstdint>
#include <optional>

#include <sluice/convolution.h>
#include <sluice/detail/export.h>
#include <sluice/nn/module.h>
#include <sluice/ops.h>

namespace SLUICE_EXPORT sluice {
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

struct Conv1dOptions {
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};
// conv1d() of weight (outputs, inputs / groups, window), and a bias for each output.
class Conv1d : public Module {
 public:
  Conv1d(int64_t inputs, int64_t outputs, int64_t window, const Conv1dOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }
  Tensor weight, bias;

 private:
  sluice::Conv1dOptions options_;
};

struct Conv2dOptions {
  Pair stride = 1;
  Pair padding = 0;
  Pair dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};
// Likewise, conv2d() of weight (outputs, inputs / groups, rows, columns).
class Conv2d : public Module {
 public:
  Conv2d(int64_t inputs, int64_t outputs, Pair window, const Conv2dOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }
  Tensor weight, bias;

 private:
  sluice::Conv2dOptions options_;
};

struct ConvTranspose2dOptions {
  Pair stride = 1;
  Pair padding = 0;
  Pair output_padding = 0;
  Pair dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};
// Likewise, conv_transpose2d() of weight (inputs, outputs / groups, rows, columns).
class ConvTranspose2d : public Module {
 public:
  ConvTranspose2d(int64_t inputs, int64_t outputs, Pair window,
                  const ConvTranspose2dOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }
  Tensor weight, bias;

 private:
  sluice::ConvTranspose2dOptions options_;
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

class MaxPool2d : public Module {
 public:
  explicit MaxPool2d(Pair window, const Pool2dOptions& options = {})
      : window_(window), options_(options) {}
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }

 private:
  Pair window_;
  Pool2dOptions options_;
};
class AvgPool2d : public Module {
 public:
  explicit AvgPool2d(Pair window, const Pool2dOptions& options = {})
      : window_(window), options_(options) {}
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }

 private:
  Pair window_;
  Pool2dOptions options_;
};
class AdaptiveAvgPool2d : public Module {
 public:
  explicit AdaptiveAvgPool2d(Pair size) : size_(size) {}
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }

 private:
  Pair size_;
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

#endif  // SLUICE_NN_LAYERS_H_
