#include "workloads/hand_adam.h"

#include <cmath>

namespace sluice::workloads {
namespace {

constexpr double kMeanDecay = 0.9;
constexpr double kSquareDecay = 0.999;
constexpr float kEpsilon = 1e-8f;
constexpr float kWeightDecay = 0.01f;  // of weights only, not biases

}  // namespace

Adam::Adam(const std::vector<Layer>& parameters) {
  const auto zero_moments = [](const Tensor& x) { return Moments{zeros_like(x), zeros_like(x)}; };
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

void Adam::update(const Scale& scale, const Tensor& gradient, Moments& moments, Tensor& parameter) {
  constexpr float kMean = kMeanDecay, kSquare = kSquareDecay;
  moments.mean = moments.mean * kMean + gradient * (1.f - kMean);
  moments.square = moments.square * kSquare + square(gradient) * (1.f - kSquare);
  const Tensor direction =
      moments.mean * scale.mean / (sqrt(moments.square * scale.square) + kEpsilon);
  parameter -= (direction + parameter * scale.decay) * scale.rate;
}

}  // namespace sluice::workloads
