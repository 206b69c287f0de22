#include "network.h"

#include <cmath>

namespace digits {

namespace sl = sluice;

Network::Network(const std::vector<int64_t>& widths) {
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    const float deviation = std::sqrt(2.f / static_cast<float>(widths[i]));
    layers_.push_back(
        {sl::randn({widths[i], widths[i + 1]}) * deviation, sl::zeros({widths[i + 1]})});
  }
}

sl::Tensor Network::logits(const sl::Tensor& inputs) const {
  sl::Tensor x = inputs;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (i > 0) x = sl::relu(x);
    x = sl::matmul(x, layers_[i].weight) + layers_[i].bias;
  }
  return x;
}

Gradients Network::gradients(const sl::Tensor& inputs, const sl::Tensor& targets) const {
  const size_t depth = layers_.size();
  std::vector<sl::Tensor> activations = {inputs};  // the input of each layer
  sl::Tensor x;
  for (size_t i = 0; i < depth; ++i) {
    x = sl::matmul(activations[i], layers_[i].weight) + layers_[i].bias;
    if (i + 1 < depth) activations.push_back(sl::relu(x));
  }

  const float scale = 1.f / static_cast<float>(inputs.shape(0));
  const sl::Tensor log_probabilities = sl::log_softmax(x);
  Gradients result;
  result.loss = sl::sum(targets * log_probabilities) * -scale;
  result.layers.resize(depth);

  // d loss / d logits = (softmax - target) / n, then backwards through the layers.
  sl::Tensor delta = (sl::exp(log_probabilities) - targets) * scale;
  for (size_t i = depth; i-- > 0;) {
    result.layers[i] = {sl::matmul(activations[i].T(), delta), sl::sum(delta, {0})};
    if (i > 0) {
      delta = sl::where(activations[i] > 0.f, sl::matmul(delta, layers_[i].weight.T()), 0.f);
    }
  }
  return result;
}

}  // namespace digits
