// What is done to gradients before a step, and to parameters after it.
#ifndef SLUICE_OPTIM_GRADIENTS_H_
#define SLUICE_OPTIM_GRADIENTS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sluice/nn/parameters.h>
#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {
namespace optim {

// A tensor that one may leave unused: of one element.
struct GradNorm : Tensor {
  explicit GradNorm(Tensor norm) : Tensor(std::move(norm)) {}
};

// Scales all gradients by one factor, so that the 2-norm of all their elements is at most
// `greatest`, and returns what the norm was. The gradients in the list become others; empty ones
// stay.
GradNorm clip_grad_norm(std::vector<Tensor>& gradients, double greatest);
GradNorm clip_grad_norm(std::map<std::string, Tensor>& gradients, double greatest);

// Brings every element into [-greatest, greatest].
void clip_grad_value(std::vector<Tensor>& gradients, double greatest);
void clip_grad_value(std::map<std::string, Tensor>& gradients, double greatest);

// Averages of parameters: decay * average + (1 - decay) * value, at each update(). They begin as
// the parameters are, which must outlive this and stay where they are.
class EMA {
 public:
  explicit EMA(const nn::Parameters& parameters, double decay = 0.999);
  void update();
  // Exchanges parameters and averages: before an evaluation, and again after it.
  void swap();
  [[nodiscard]] const std::vector<Tensor>& averages() const { return averages_; }

 private:
  nn::Parameters parameters_;
  std::vector<Tensor> averages_;
  double decay_;
};

}  // namespace optim
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_OPTIM_GRADIENTS_H_
