#include <sluice/optim/schedules.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <sluice/creation.h>
#include "frontend/checks.h"

namespace sluice::optim {
namespace {

// How far `step` is on the way through `steps`, from 0 to 1.
double share_of(int64_t step, int64_t steps) {
  if (steps <= 0) return 1;
  return std::clamp(static_cast<double>(step) / static_cast<double>(steps), 0.0, 1.0);
}

// From `from` at 0 to `to` at 1, by half a cosine.
double eased(double from, double to, double share) {
  return to + (from - to) * 0.5 * (1 + std::cos(std::numbers::pi * share));
}

}  // namespace

Schedule constant(double lr) {
  return [=](int64_t) { return lr; };
}

Schedule linear(double from, double to, int64_t steps) {
  return [=](int64_t step) { return from + (to - from) * share_of(step, steps); };
}

Schedule cosine(double lr, int64_t steps, double least) {
  return [=](int64_t step) { return eased(lr, least, share_of(step, steps)); };
}

Schedule step_decay(double lr, int64_t every, double factor) {
  return [=](int64_t step) {
    return lr * std::pow(factor, static_cast<double>(step / std::max<int64_t>(every, 1)));
  };
}

Schedule exponential(double lr, double factor) {
  return [=](int64_t step) { return lr * std::pow(factor, static_cast<double>(step)); };
}

Schedule one_cycle(double greatest, int64_t steps, double share) {
  return [=](int64_t step) {
    const double first = greatest / 25, last = first / 1e4;
    const double done = share_of(step, steps);
    if (done < share) return eased(first, greatest, done / share);
    return eased(greatest, last, share < 1 ? (done - share) / (1 - share) : 1);
  };
}

Schedule warm_up(int64_t steps, Schedule after) {
  return [steps, after = std::move(after)](int64_t step) {
    if (step >= steps) return after(step - steps);
    return after(0) * static_cast<double>(step + 1) / static_cast<double>(steps + 1);
  };
}

double Plateau::next(double value) {
  const double sign = options_.greater_is_better ? -1 : 1;
  const double margin = options_.threshold * std::abs(best_);
  if (!std::isnan(value) && (waited_ < 0 || sign * value < sign * best_ - margin)) {
    best_ = value;
    waited_ = 0;
  } else if (waited_ >= 0 && ++waited_ > options_.patience) {
    lr_ = std::max(lr_ * options_.factor, options_.least);
    waited_ = 0;
  }
  return lr_;
}

std::map<std::string, Tensor> Plateau::state_dict() const {
  const auto number = [](double value) { return full({}, value, DType::kFloat64); };
  return {{"lr", number(lr_)},
          {"best", number(best_)},
          {"waited", number(static_cast<double>(waited_))}};
}

void Plateau::load_state_dict(const std::map<std::string, Tensor>& state) {
  const auto number = [&](const char* name) {
    const auto found = state.find(name);
    if (found == state.end()) {
      frontend::fail("Plateau::load_state_dict", "there is no \"", name, "\"");
    }
    return found->second.item<double>();
  };
  const double lr = number("lr"), best = number("best"), waited = number("waited");
  lr_ = lr;
  best_ = best;
  waited_ = static_cast<int64_t>(waited);
}

}  // namespace sluice::optim
