#include "adam.h"

#include <cmath>

namespace digits {
namespace {

namespace sl = sluice;

constexpr double kMeanDecay = 0.9;
constexpr double kSquareDecay = 0.999;
constexpr float kEpsilon = 1e-8f;
constexpr float kWeightDecay = 0.01f;  // of weights only, not biases

}  // namespace

Adam::Adam(const std::vector<Layer>& parameters) {
  const auto zero_moments = [](const sl::Tensor& x) {
    return Moments{sl::zeros_like(x), sl::zeros_like(x)};
  };
  for (const Layer& layer : parameters) {
    moments_.push_back({zero_moments(layer.weight), zero_moments(layer.bias)});
  }
}

void Adam::step(double learning_rate, const std::vector<Layer>& gradients,
                std::vector<Layer>& parameters) {
  ++steps_;
  Scale scale;
  scale.rate = static_cast<float>(learning_rate);
  scale.mean = static_cast<float>(1.0 / (1.0 - std::pow(kMeanDecay, steps_)));
  scale.square = static_cast<float>(1.0 / (1.0 - std::pow(kSquareDecay, steps_)));
  for (size_t i = 0; i < parameters.size(); ++i) {
    scale.decay = kWeightDecay;
    update(scale, gradients[i].weight, moments_[i].weight, parameters[i].weight);
    scale.decay = 0.f;
    update(scale, gradients[i].bias, moments_[i].bias, parameters[i].bias);
  }
}

void Adam::update(const Scale& scale, const sl::Tensor& gradient, Moments& moments,
                  sl::Tensor& parameter) {
  constexpr float kMean = kMeanDecay, kSquare = kSquareDecay;
  moments.mean = moments.mean * kMean + gradient * (1.f - kMean);
  moments.square = moments.square * kSquare + sl::square(gradient) * (1.f - kSquare);
  const sl::Tensor direction =
      moments.mean * scale.mean / (sl::sqrt(moments.square * scale.square) + kEpsilon);
  parameter -= (direction + parameter * scale.decay) * scale.rate;
}

}  // namespace digits
