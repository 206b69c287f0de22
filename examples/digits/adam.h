// Adam (Kingma and Ba, 2015) with decoupled weight decay (Loshchilov and Hutter, 2019), in tensor
// ops.
#ifndef SLUICE_EXAMPLES_DIGITS_ADAM_H_
#define SLUICE_EXAMPLES_DIGITS_ADAM_H_

#include <sluice/sluice.h>

#include <cstdint>
#include <vector>

#include "network.h"

namespace digits {

class Adam {
 public:
  explicit Adam(const std::vector<Layer>& parameters);

  // Updates `parameters` along `gradients`. The rate and the bias corrections are C++ numbers that
  // change at every step; they are kernel arguments and never cause a compilation.
  void step(double learning_rate, const std::vector<Layer>& gradients,
            std::vector<Layer>& parameters);

 private:
  struct Moments {
    sluice::Tensor mean, square;
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
  static void update(const Scale& scale, const sluice::Tensor& gradient, Moments& moments,
                     sluice::Tensor& parameter);

  int64_t steps_ = 0;
  std::vector<LayerMoments> moments_;
};

}  // namespace digits

#endif  // SLUICE_EXAMPLES_DIGITS_ADAM_H_
