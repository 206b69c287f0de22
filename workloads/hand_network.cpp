#include "workloads/hand_network.h"

#include <cmath>

namespace sluice::workloads {

Network::Network(const std::vector<int64_t>& widths) {
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    const float deviation = std::sqrt(2.f / static_cast<float>(widths[i]));
    layers_.push_back({randn({widths[i], widths[i + 1]}) * deviation, zeros({widths[i + 1]})});
  }
}

Tensor Network::logits(const Tensor& inputs) const {
  Tensor x = inputs;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (i > 0) x = relu(x);
    x = matmul(x, layers_[i].weight) + layers_[i].bias;
  }
  return x;
}

Gradients Network::gradients(const Tensor& inputs, const Tensor& targets) const {
  const size_t depth = layers_.size();
  std::vector<Tensor> activations = {inputs};  // the input of each layer
  Tensor x;
  for (size_t i = 0; i < depth; ++i) {
    x = matmul(activations[i], layers_[i].weight) + layers_[i].bias;
    if (i + 1 < depth) activations.push_back(relu(x));
  }

  const float scale = 1.f / static_cast<float>(inputs.shape(0));
  const Tensor log_probabilities = log_softmax(x);
  Gradients result;
  result.loss = sum(targets * log_probabilities) * -scale;
  result.layers.resize(depth);

  // d loss / d logits = (softmax - target) / n, then backwards through the layers.
  Tensor delta = (exp(log_probabilities) - targets) * scale;
  for (size_t i = depth; i-- > 0;) {
    result.layers[i] = {matmul(activations[i].T(), delta), sum(delta, {0})};
    if (i > 0) {
      delta = where(activations[i] > 0.f, matmul(delta, layers_[i].weight.T()), 0.f);
    }
  }
  return result;
}

}  // namespace sluice::workloads
