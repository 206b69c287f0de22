#include <sluice/optim/schedules.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

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

}  // namespace sluice::optim
