// A multi-layer perceptron with its gradients written by hand.
#ifndef SLUICE_EXAMPLES_DIGITS_NETWORK_H_
#define SLUICE_EXAMPLES_DIGITS_NETWORK_H_

#include <sluice/sluice.h>

#include <cstdint>
#include <vector>

namespace digits {

struct Layer {
  sluice::Tensor weight;  // (inputs, outputs)
  sluice::Tensor bias;    // (outputs)
};

struct Gradients {
  sluice::Tensor loss;        // scalar: mean cross-entropy of the batch
  std::vector<Layer> layers;  // the gradients of the parameters
};

// relu between layers, softmax at the end.
class Network {
 public:
  // `widths` from the inputs to the classes. Weights are normal with variance 2 / inputs (He et
  // al., "Delving deep into rectifiers", 2015), biases 0.
  explicit Network(const std::vector<int64_t>& widths);

  // (n, inputs) -> (n, classes), before the softmax.
  sluice::Tensor logits(const sluice::Tensor& inputs) const;

  // `targets` (n, classes): one-hot rows.
  Gradients gradients(const sluice::Tensor& inputs, const sluice::Tensor& targets) const;

  std::vector<Layer>& layers() { return layers_; }

 private:
  std::vector<Layer> layers_;
};

}  // namespace digits

#endif  // SLUICE_EXAMPLES_DIGITS_NETWORK_H_
