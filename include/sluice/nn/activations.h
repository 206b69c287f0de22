// Activation functions as layers.
#ifndef SLUICE_NN_ACTIVATIONS_H_
#define SLUICE_NN_ACTIVATIONS_H_

#include <utility>

#include <sluice/detail/function.h>
#include <sluice/nn/module.h>

#pragma GCC visibility push(default)
namespace sluice {
namespace nn {

// A function as a layer.
class Activation : public Module {
 public:
  explicit Activation(std::function<Tensor(const Tensor&)> function)
      : function_(std::move(function)) {}
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }

 private:
  std::function<Tensor(const Tensor&)> function_;
};

// Each is the function of its name (ops.h), with the arguments that it is given here.
struct ReLU : Activation {
  ReLU();
};
struct ReLU6 : Activation {
  ReLU6();
};
struct LeakyReLU : Activation {
  explicit LeakyReLU(double slope = 0.01);
};
struct ELU : Activation {
  explicit ELU(double alpha = 1);
};
struct SELU : Activation {
  SELU();
};
struct CELU : Activation {
  explicit CELU(double alpha = 1);
};
struct GELU : Activation {
  GELU();
};
struct GELUTanh : Activation {
  GELUTanh();
};
struct SiLU : Activation {
  SiLU();
};
struct Mish : Activation {
  Mish();
};
struct Softplus : Activation {
  Softplus();
};
struct Sigmoid : Activation {
  Sigmoid();
};
struct LogSigmoid : Activation {
  LogSigmoid();
};
struct Tanh : Activation {
  Tanh();
};
struct Hardtanh : Activation {
  explicit Hardtanh(double low = -1, double high = 1);
};
struct Hardsigmoid : Activation {
  Hardsigmoid();
};
struct Hardswish : Activation {
  Hardswish();
};
struct Softsign : Activation {
  Softsign();
};
struct GLU : Activation {
  explicit GLU(int axis = -1);
};
struct Softmax : Activation {
  explicit Softmax(int axis = -1);
};
struct LogSoftmax : Activation {
  explicit LogSoftmax(int axis = -1);
};
struct Identity : Activation {
  Identity();
};

// prelu() of one weight, or of one for each channel; they begin as `slope`.
class PReLU : public Module {
 public:
  explicit PReLU(int64_t count = 1, double slope = 0.25);
  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }
  Tensor weight;
};

}  // namespace nn
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_NN_ACTIVATIONS_H_
