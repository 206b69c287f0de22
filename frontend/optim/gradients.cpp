#include <sluice/optim/gradients.h>

#include <utility>

#include <sluice/autograd.h>
#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/checks.h"
#include "frontend/nn/leaf.h"

namespace sluice::optim {
namespace {

// The gradients that are there.
std::vector<Tensor*> list_of(std::vector<Tensor>& gradients) {
  std::vector<Tensor*> list;
  for (Tensor& gradient : gradients) {
    if (gradient.defined()) list.push_back(&gradient);
  }
  return list;
}
std::vector<Tensor*> list_of(std::map<std::string, Tensor>& gradients) {
  std::vector<Tensor*> list;
  for (auto& [name, gradient] : gradients) {
    if (gradient.defined()) list.push_back(&gradient);
  }
  return list;
}

void check_positive(const char* name, double greatest) {
  if (!(greatest > 0)) frontend::fail(name, "the greatest is ", greatest, ", not positive");
}

Tensor clip_norm(const std::vector<Tensor*>& gradients, double greatest) {
  check_positive("clip_grad_norm", greatest);
  Tensor total = full({}, 0.F);
  for (const Tensor* gradient : gradients) {
    const Tensor squares = sum(square(astype(*gradient, compute_type(gradient->dtype()))));
    total = gradient == gradients.front() ? squares : total + squares;
  }
  const Tensor norm = sqrt(total);
  // As PyTorch has it, so that a norm of 0 divides nothing by 0.
  const Tensor factor = minimum(Scalar(greatest) / (norm + Scalar(1e-6)), Scalar(1));
  for (Tensor* gradient : gradients) {
    *gradient =
        astype(*gradient * astype(factor, compute_type(gradient->dtype())), gradient->dtype());
  }
  return norm;
}

void clip_value(const std::vector<Tensor*>& gradients, double greatest) {
  check_positive("clip_grad_value", greatest);
  for (Tensor* gradient : gradients) {
    *gradient = clip(*gradient, Scalar(-greatest), Scalar(greatest));
  }
}

}  // namespace

GradNorm clip_grad_norm(std::vector<Tensor>& gradients, double greatest) {
  return GradNorm(clip_norm(list_of(gradients), greatest));
}
GradNorm clip_grad_norm(std::map<std::string, Tensor>& gradients, double greatest) {
  return GradNorm(clip_norm(list_of(gradients), greatest));
}
void clip_grad_value(std::vector<Tensor>& gradients, double greatest) {
  clip_value(list_of(gradients), greatest);
}
void clip_grad_value(std::map<std::string, Tensor>& gradients, double greatest) {
  clip_value(list_of(gradients), greatest);
}

EMA::EMA(const nn::Parameters& parameters, double decay) : parameters_(parameters), decay_(decay) {
  for (const Tensor* parameter : parameters_) {
    averages_.push_back(frontend::detached(*parameter));
  }
}

void EMA::update() {
  const NoGrad guard;
  for (size_t i = 0; i < averages_.size(); ++i) {
    averages_[i] =
        averages_[i] * Scalar(decay_) + frontend::detached(*parameters_[i]) * Scalar(1 - decay_);
  }
}

void EMA::swap() {
  for (size_t i = 0; i < averages_.size(); ++i) {
    Tensor& parameter = *parameters_[i];
    const bool is_leaf = parameter.needs_grad();
    Tensor value = frontend::detached(parameter);
    parameter = is_leaf ? frontend::leaf(averages_[i]) : averages_[i];
    averages_[i] = std::move(value);
  }
}

}  // namespace sluice::optim
