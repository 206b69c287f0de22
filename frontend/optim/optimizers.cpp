#include <sluice/optim/optimizers.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <sluice/creation.h>
#include <sluice/dtype_info.h>
#include <sluice/ops.h>
#include "frontend/checks.h"

namespace sluice::optim {
namespace {

void check(const char* name, const char* what, double value, bool is_good) {
  if (!is_good) frontend::fail(name, what, " is ", value);
}

void check_share(const char* name, const char* what, double value) {
  check(name, what, value, value >= 0 && value < 1);
}

Tensor decayed(const Tensor& gradient, const Tensor& value, double weight_decay) {
  return weight_decay == 0 ? gradient : gradient + value * Scalar(weight_decay);
}

// share * old + (1 - share) * now.
Tensor blended(const Tensor& old, const Tensor& now, double share) {
  return old * Scalar(share) + now * Scalar(1 - share);
}

// 0 where an average of gradients has become too small to change anything. Those of gradients that
// are 0 from some step on, as behind a relu, otherwise end as subnormal numbers and stay there, of
// which processors compute up to a hundred times as slowly: a step of Adam took four times as long.
Tensor settled(const Tensor& average) {
  const double least = finfo(average.dtype()).smallest_normal * 1e8;
  return where(abs(average) < Scalar(least), Scalar(0), average);
}

// The direction of Adam's step, of which the learning rate is taken, and its moments in `slots`.
Tensor adam_direction(const Tensor& gradient, int64_t number, double beta1, double beta2,
                      double eps, std::span<Tensor> slots) {
  const auto t = static_cast<double>(number);
  slots[0] = settled(blended(slots[0], gradient, beta1));
  slots[1] = blended(slots[1], square(gradient), beta2);
  const Tensor mean = slots[0] * Scalar(1 / (1 - std::pow(beta1, t)));
  const Tensor root = sqrt(slots[1] * Scalar(1 / (1 - std::pow(beta2, t))));
  return mean / (root + Scalar(eps));
}

Tensor rms(const Tensor& x) { return sqrt(mean(square(x))); }

}  // namespace

SGD::SGD(const nn::Parameters& parameters, const SGDOptions& options)
    : OptimizerOf("SGD", parameters, options) {
  check("SGD", "momentum", options.momentum, options.momentum >= 0);
  check("SGD", "nesterov needs momentum, which", 0, !options.nesterov || options.momentum > 0);
}

std::vector<std::string> SGD::slots_of(size_t group, const Shape&) const {
  if (options(group).momentum == 0) return {};
  return {"momentum"};
}

Tensor SGD::updated(size_t group, const Step& step, const Tensor& value, const Tensor& gradient,
                    Slots slots) const {
  const SGDOptions& o = options(group);
  Tensor direction = decayed(gradient, value, o.weight_decay);
  if (o.momentum != 0) {
    slots[0] = settled(slots[0] * Scalar(o.momentum) + direction);
    direction = o.nesterov ? direction + slots[0] * Scalar(o.momentum) : slots[0];
  }
  return value - direction * Scalar(step.lr);
}

Adam::Adam(const nn::Parameters& parameters, const AdamOptions& options)
    : OptimizerOf("Adam", parameters, options) {
  check_share("Adam", "beta1", options.beta1);
  check_share("Adam", "beta2", options.beta2);
}

std::vector<std::string> Adam::slots_of(size_t, const Shape&) const { return {"mean", "square"}; }

Tensor Adam::updated(size_t group, const Step& step, const Tensor& value, const Tensor& gradient,
                     Slots slots) const {
  const AdamOptions& o = options(group);
  const Tensor g = decayed(gradient, value, o.weight_decay);
  return value - adam_direction(g, step.number, o.beta1, o.beta2, o.eps, slots) * Scalar(step.lr);
}

AdamW::AdamW(const nn::Parameters& parameters, const AdamWOptions& options)
    : OptimizerOf("AdamW", parameters, options) {
  check_share("AdamW", "beta1", options.beta1);
  check_share("AdamW", "beta2", options.beta2);
}

std::vector<std::string> AdamW::slots_of(size_t, const Shape&) const { return {"mean", "square"}; }

Tensor AdamW::updated(size_t group, const Step& step, const Tensor& value, const Tensor& gradient,
                      Slots slots) const {
  const AdamWOptions& o = options(group);
  const Tensor direction = adam_direction(gradient, step.number, o.beta1, o.beta2, o.eps, slots);
  return value * Scalar(1 - step.lr * o.weight_decay) - direction * Scalar(step.lr);
}

RMSProp::RMSProp(const nn::Parameters& parameters, const RMSPropOptions& options)
    : OptimizerOf("RMSProp", parameters, options) {
  check_share("RMSProp", "alpha", options.alpha);
}

std::vector<std::string> RMSProp::slots_of(size_t group, const Shape&) const {
  std::vector<std::string> slots = {"square"};
  if (options(group).centered) slots.emplace_back("mean");
  if (options(group).momentum != 0) slots.emplace_back("momentum");
  return slots;
}

Tensor RMSProp::updated(size_t group, const Step& step, const Tensor& value, const Tensor& gradient,
                        Slots slots) const {
  const RMSPropOptions& o = options(group);
  const Tensor g = decayed(gradient, value, o.weight_decay);
  slots[0] = blended(slots[0], square(g), o.alpha);
  Tensor spread = slots[0];
  if (o.centered) {
    slots[1] = blended(slots[1], g, o.alpha);
    spread = spread - square(slots[1]);
  }
  Tensor direction = g / (sqrt(spread) + Scalar(o.eps));
  if (o.momentum != 0) {
    Tensor& momentum = slots.back();
    momentum = settled(momentum * Scalar(o.momentum) + direction);
    direction = momentum;
  }
  return value - direction * Scalar(step.lr);
}

Adagrad::Adagrad(const nn::Parameters& parameters, const AdagradOptions& options)
    : OptimizerOf("Adagrad", parameters, options) {}

std::vector<std::string> Adagrad::slots_of(size_t, const Shape&) const { return {"sum"}; }

Tensor Adagrad::initial(size_t group, const std::string&, const Tensor& value) const {
  return full_like(value, Scalar(options(group).initial_sum));
}

Tensor Adagrad::updated(size_t group, const Step& step, const Tensor& value, const Tensor& gradient,
                        Slots slots) const {
  const AdagradOptions& o = options(group);
  const Tensor g = decayed(gradient, value, o.weight_decay);
  slots[0] = slots[0] + square(g);
  const double rate = step.lr / (1 + static_cast<double>(step.number - 1) * o.lr_decay);
  return value - g / (sqrt(slots[0]) + Scalar(o.eps)) * Scalar(rate);
}

Lion::Lion(const nn::Parameters& parameters, const LionOptions& options)
    : OptimizerOf("Lion", parameters, options) {
  check_share("Lion", "beta1", options.beta1);
  check_share("Lion", "beta2", options.beta2);
}

std::vector<std::string> Lion::slots_of(size_t, const Shape&) const { return {"mean"}; }

Tensor Lion::updated(size_t group, const Step& step, const Tensor& value, const Tensor& gradient,
                     Slots slots) const {
  const LionOptions& o = options(group);
  const Tensor direction = sign(blended(slots[0], gradient, o.beta1));
  slots[0] = blended(slots[0], gradient, o.beta2);
  return value * Scalar(1 - step.lr * o.weight_decay) - direction * Scalar(step.lr);
}

Adafactor::Adafactor(const nn::Parameters& parameters, const AdafactorOptions& options)
    : OptimizerOf("Adafactor", parameters, options) {
  check("Adafactor", "beta2_decay", options.beta2_decay, options.beta2_decay <= 0);
}

std::vector<std::string> Adafactor::slots_of(size_t, const Shape& shape) const {
  if (shape.rank() < 2) return {"square"};
  return {"rows", "columns"};
}

Tensor Adafactor::initial(size_t, const std::string& slot, const Tensor& value) const {
  if (slot == "square") return zeros_like(value);
  std::vector<int64_t> dims(value.shape().begin(), value.shape().end());
  dims[dims.size() - (slot == "rows" ? 1 : 2)] = 1;
  return zeros(Shape(dims), value.dtype(), value.device());
}

Tensor Adafactor::updated(size_t group, const Step& step, const Tensor& value,
                          const Tensor& gradient, Slots slots) const {
  const AdafactorOptions& o = options(group);
  const auto t = static_cast<double>(step.number);
  const double keep = 1 - std::pow(t, o.beta2_decay);
  const Scalar least(o.eps1 * o.eps1);
  Tensor variance;
  if (slots.size() == 1) {
    slots[0] = blended(slots[0], square(gradient), keep);
    variance = slots[0];
  } else {
    slots[0] = blended(slots[0], mean(square(gradient), -1, true), keep);
    slots[1] = blended(slots[1], mean(square(gradient), -2, true), keep);
    variance = slots[0] * slots[1] / maximum(mean(slots[0], -2, true), least);
  }
  const Tensor direction = gradient * rsqrt(maximum(variance, least));
  const Tensor scale = maximum(rms(value), Scalar(o.eps2)) *
                       Scalar(std::min(step.lr, 1 / std::sqrt(t))) /
                       maximum(rms(direction) * Scalar(1 / o.clip), Scalar(1));
  return value * Scalar(1 - step.lr * o.weight_decay) - direction * scale;
}

}  // namespace sluice::optim
