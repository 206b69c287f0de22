#include <sluice/nn/activations.h>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/nn/observed.h"

namespace sluice::nn {

Tensor Activation::operator()(const Tensor& x) const {
  return frontend::observed(*this, function_(x));
}

ReLU::ReLU() : Activation([](const Tensor& x) { return relu(x); }) {}
ReLU6::ReLU6() : Activation([](const Tensor& x) { return relu6(x); }) {}
LeakyReLU::LeakyReLU(double slope)
    : Activation([slope](const Tensor& x) { return leaky_relu(x, slope); }) {}
ELU::ELU(double alpha) : Activation([alpha](const Tensor& x) { return elu(x, alpha); }) {}
SELU::SELU() : Activation([](const Tensor& x) { return selu(x); }) {}
CELU::CELU(double alpha) : Activation([alpha](const Tensor& x) { return celu(x, alpha); }) {}
GELU::GELU() : Activation([](const Tensor& x) { return gelu(x); }) {}
GELUTanh::GELUTanh() : Activation([](const Tensor& x) { return gelu_tanh(x); }) {}
SiLU::SiLU() : Activation([](const Tensor& x) { return silu(x); }) {}
Mish::Mish() : Activation([](const Tensor& x) { return mish(x); }) {}
Softplus::Softplus() : Activation([](const Tensor& x) { return softplus(x); }) {}
Sigmoid::Sigmoid() : Activation([](const Tensor& x) { return sigmoid(x); }) {}
LogSigmoid::LogSigmoid() : Activation([](const Tensor& x) { return log_sigmoid(x); }) {}
Tanh::Tanh() : Activation([](const Tensor& x) { return tanh(x); }) {}
Hardtanh::Hardtanh(double low, double high)
    : Activation([low, high](const Tensor& x) { return hardtanh(x, low, high); }) {}
Hardsigmoid::Hardsigmoid() : Activation([](const Tensor& x) { return hardsigmoid(x); }) {}
Hardswish::Hardswish() : Activation([](const Tensor& x) { return hardswish(x); }) {}
Softsign::Softsign() : Activation([](const Tensor& x) { return softsign(x); }) {}
GLU::GLU(int axis) : Activation([axis](const Tensor& x) { return glu(x, axis); }) {}
Softmax::Softmax(int axis) : Activation([axis](const Tensor& x) { return softmax(x, axis); }) {}
LogSoftmax::LogSoftmax(int axis)
    : Activation([axis](const Tensor& x) { return log_softmax(x, axis); }) {}
Identity::Identity() : Activation([](const Tensor& x) { return x; }) {}

PReLU::PReLU(int64_t count, double slope) : weight(full({count}, slope)) {
  register_parameter("weight", weight);
}

Tensor PReLU::operator()(const Tensor& x) const {
  return frontend::observed(*this, prelu(x, weight));
}

}  // namespace sluice::nn
