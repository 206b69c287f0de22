#include "fusion/plan/plan_template.h"

#include <algorithm>
#include <utility>

#include "fusion/plan/memory/memory_plan.h"

namespace sluice::fusion {
namespace {

bool may_bypass_caches(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [](const Step& step) { return step.bytes_written >= kLeastNontemporalBytes; });
}

// Tiles of reductions are there only for extents that leaves divide.
bool reduces_by_tiles(const Plan& plan) {
  for (const Step& step : plan.steps) {
    for (const KernelCall& call : step.kernels) {
      if (call.program.tiled && call.program.reduced_rank > 0) return true;
    }
  }
  return false;
}

}  // namespace

std::shared_ptr<const PlanTemplate> PlanTemplate::make(int64_t first, int64_t step,
                                                       std::array<Plan, kSamples> plans) {
  std::array<std::vector<int64_t>, kSamples> samples;
  for (int i = 0; i < kSamples; ++i) {
    if (!same_structure(plans[0], plans[i])) return nullptr;
    if (may_bypass_caches(plans[i]) || reduces_by_tiles(plans[i])) return nullptr;
    samples[i] = numbers_of(plans[i]);
    if (samples[i].size() != samples[0].size()) return nullptr;
  }
  std::shared_ptr<PlanTemplate> result(new PlanTemplate(first, step));
  for (size_t k = 0; k < samples[0].size(); ++k) {
    const auto [a, b, c, d] =
        std::array{samples[0][k], samples[1][k], samples[2][k], samples[3][k]};
    if (d - 3 * c + 3 * b - a != 0) return nullptr;
    if (a == b && b == c) continue;
    result->numbers_.push_back({k, a, b - a, c - 2 * b + a});
  }
  for (size_t s = 0; s < plans[0].steps.size(); ++s) {
    std::array<double, kSamples>& costs = result->costs_.emplace_back();
    for (int i = 0; i < kSamples; ++i) costs[i] = plans[i].steps[s].cost;
  }
  result->plan_ = std::move(plans[0]);
  return result;
}

std::optional<Plan> PlanTemplate::at(int64_t position, const Graph& graph) const {
  const int64_t distance = position - first_;
  // value + slope * x + curvature * x (x - 1) / 2, where x = distance / step.
  std::vector<PlanNumber> numbers;
  numbers.reserve(numbers_.size());
  const __int128 divisor = __int128{2} * step_ * step_;
  for (const Number& number : numbers_) {
    const auto [place, value, slope, curvature] = number;
    const __int128 rise = __int128{slope} * (2 * step_ * distance) +
                          __int128{curvature} * distance * (distance - step_);
    if (rise % divisor != 0) return std::nullopt;
    numbers.push_back({place, value + static_cast<int64_t>(rise / divisor)});
  }
  Plan plan = plan_;
  set_numbers(numbers, &plan);
  const double x = static_cast<double>(distance) / static_cast<double>(step_);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    // The cubic function through the samples.
    const auto [a, b, c, d] = costs_[s];
    plan.steps[s].cost =
        a + x * (b - a + (x - 1) / 2 * (c - 2 * b + a + (x - 2) / 3 * (d - 3 * c + 3 * b - a)));
  }
  for (Output& output : plan.outputs) output.layout.shape = graph.nodes[output.node].shape;
  return plan;
}

}  // namespace sluice::fusion
