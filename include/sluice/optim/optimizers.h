// The optimisers. Weight decay of W means that the gradient of W / 2 * the squared weights is added
// (SGD, Adam, RMSProp, Adagrad), or, decoupled, that weights shrink by lr * W a step (AdamW, Lion,
// Adafactor).
#ifndef SLUICE_OPTIM_OPTIMIZERS_H_
#define SLUICE_OPTIM_OPTIMIZERS_H_

#include <string>
#include <vector>

#include <sluice/optim/optimizer.h>

#pragma GCC visibility push(default)
namespace sluice {
namespace optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;
};
// p -= lr * v, with v = momentum * v + g; with nesterov, p -= lr * (g + momentum * v).
class SGD : public OptimizerOf<SGDOptions> {
 public:
  explicit SGD(const nn::Parameters& parameters, const SGDOptions& options = {});

 private:
  std::vector<std::string> slots_of(size_t group, const Shape& shape) const override;
  Tensor updated(size_t group, const Step& step, const Tensor& value, const Tensor& gradient,
                 Slots slots) const override;
};

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
};
// Kingma and Ba, Adam: A Method for Stochastic Optimization, 2015.
class Adam : public OptimizerOf<AdamOptions> {
 public:
  explicit Adam(const nn::Parameters& parameters, const AdamOptions& options = {});

 private:
  std::vector<std::string> slots_of(size_t group, const Shape& shape) const override;
  Tensor updated(size_t group, const Step& step, const Tensor& value, const Tensor& gradient,
                 Slots slots) const override;
};

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
};
// Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019.
class AdamW : public OptimizerOf<AdamWOptions> {
 public:
  explicit AdamW(const nn::Parameters& parameters, const AdamWOptions& options = {});

 private:
  std::vector<std::string> slots_of(size_t group, const Shape& shape) const override;
  Tensor updated(size_t group, const Step& step, const Tensor& value, const Tensor& gradient,
                 Slots slots) const override;
};

struct RMSPropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;  // by the variance of gradients, not their mean square
};
// Tieleman and Hinton, 2012.
class RMSProp : public OptimizerOf<RMSPropOptions> {
 public:
  explicit RMSProp(const nn::Parameters& parameters, const RMSPropOptions& options = {});

 private:
  std::vector<std::string> slots_of(size_t group, const Shape& shape) const override;
  Tensor updated(size_t group, const Step& step, const Tensor& value, const Tensor& gradient,
                 Slots slots) const override;
};

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;
  double eps = 1e-10;
  double weight_decay = 0;
  double initial_sum = 0;
};
// Duchi et al., Adaptive Subgradient Methods, 2011.
class Adagrad : public OptimizerOf<AdagradOptions> {
 public:
  explicit Adagrad(const nn::Parameters& parameters, const AdagradOptions& options = {});

 private:
  std::vector<std::string> slots_of(size_t group, const Shape& shape) const override;
  Tensor initial(size_t group, const std::string& slot, const Tensor& value) const override;
  Tensor updated(size_t group, const Step& step, const Tensor& value, const Tensor& gradient,
                 Slots slots) const override;
};

struct LionOptions {
  double lr = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;
};
// Chen et al., Symbolic Discovery of Optimization Algorithms, 2023.
class Lion : public OptimizerOf<LionOptions> {
 public:
  explicit Lion(const nn::Parameters& parameters, const LionOptions& options = {});

 private:
  std::vector<std::string> slots_of(size_t group, const Shape& shape) const override;
  Tensor updated(size_t group, const Step& step, const Tensor& value, const Tensor& gradient,
                 Slots slots) const override;
};

struct AdafactorOptions {
  double lr = 1e-2;  // the most; a step's is min(lr, 1 / sqrt(step)) * max(eps2, rms(p))
  double beta2_decay = -0.8;
  double eps1 = 1.1920928955078125e-07;
  double eps2 = 1e-3;
  double clip = 1;  // the greatest rms of an update
  double weight_decay = 0;
};
// Shazeer and Stern, Adafactor, 2018: of a matrix, and of matrices in the last two axes, only means
// of rows and columns are kept.
class Adafactor : public OptimizerOf<AdafactorOptions> {
 public:
  explicit Adafactor(const nn::Parameters& parameters, const AdafactorOptions& options = {});

 private:
  std::vector<std::string> slots_of(size_t group, const Shape& shape) const override;
  Tensor initial(size_t group, const std::string& slot, const Tensor& value) const override;
  Tensor updated(size_t group, const Step& step, const Tensor& value, const Tensor& gradient,
                 Slots slots) const override;
};

}  // namespace optim
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_OPTIM_OPTIMIZERS_H_
