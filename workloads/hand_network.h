// A multi-layer perceptron with its gradients written by hand.
#ifndef SLUICE_WORKLOADS_HAND_NETWORK_H_
#define SLUICE_WORKLOADS_HAND_NETWORK_H_

#include <sluice/sluice.h>

#include <cstdint>
#include <vector>

namespace sluice::workloads {

struct Layer {
  Tensor weight;  // (inputs, outputs)
  Tensor bias;    // (outputs)
};

struct Gradients {
  Tensor loss;                // scalar: mean cross-entropy of the batch
  std::vector<Layer> layers;  // the gradients of the parameters
};

// relu between layers, softmax at the end.
class Network {
 public:
  // `widths` from the inputs to the classes. Weights are normal with variance 2 / inputs (He et
  // al., "Delving deep into rectifiers", 2015), biases 0.
  explicit Network(const std::vector<int64_t>& widths);

  // (n, inputs) -> (n, classes), before the softmax.
  Tensor logits(const Tensor& inputs) const;

  // `targets` (n, classes): one-hot rows.
  Gradients gradients(const Tensor& inputs, const Tensor& targets) const;

  std::vector<Layer>& layers() { return layers_; }

 private:
  std::vector<Layer> layers_;
};

}  // namespace sluice::workloads

#endif  // SLUICE_WORKLOADS_HAND_NETWORK_H_
