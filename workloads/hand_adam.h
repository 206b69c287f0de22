// Adam (Kingma and Ba, 2015) with decoupled weight decay (Loshchilov and Hutter, 2019), in tensor
// ops.
#ifndef SLUICE_WORKLOADS_HAND_ADAM_H_
#define SLUICE_WORKLOADS_HAND_ADAM_H_

#include <sluice/sluice.h>

#include <cstdint>
#include <vector>

#include "workloads/hand_network.h"

namespace sluice::workloads {

class Adam {
 public:
  explicit Adam(const std::vector<Layer>& parameters);

  // Updates `parameters` along `gradients`. The rate and the bias corrections are C++ numbers that
  // change at every step; they are kernel arguments and never cause a compilation.
  void step(double learning_rate, const std::vector<Layer>& gradients,
            std::vector<Layer>& parameters);

 private:
  struct Moments {
    Tensor mean, square;
  };
  struct LayerMoments {
    Moments weight, bias;
  };
  // The scalars of one step.
  struct Scale {
    float rate;
    float mean, square;  // bias corrections
    float decay;
  };
  static void update(const Scale& scale, const Tensor& gradient, Moments& moments,
                     Tensor& parameter);

  int64_t steps_ = 0;
  std::vector<LayerMoments> moments_;
};

}  // namespace sluice::workloads

#endif  // SLUICE_WORKLOADS_HAND_ADAM_H_
