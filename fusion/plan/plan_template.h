// Plans of graphs on a line of sizes, from the plans of four of them.
#ifndef SLUICE_FUSION_PLAN_PLAN_TEMPLATE_H_
#define SLUICE_FUSION_PLAN_PLAN_TEMPLATE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "fusion/graph/graph.h"
#include "fusion/plan/plan.h"
#include "fusion/plan/plan_numbers.h"

namespace sluice::fusion {

// Immutable.
class PlanTemplate {
 public:
  static constexpr int kSamples = 4;

  // `plans`: at the positions first, first + step, and so on. Null if their structures differ, if
  // their numbers are no quadratic functions of the position, if they write so much that stores
  // may bypass the caches, or if reductions read by tiles.
  static std::shared_ptr<const PlanTemplate> make(int64_t first, int64_t step,
                                                  std::array<Plan, kSamples> plans);

  bool covers(int64_t position) const {
    return first_ <= position && position <= first_ + (kSamples - 1) * step_;
  }
  // The plan of `graph`, which lies at `position`. nullopt if some number would be no integer.
  std::optional<Plan> at(int64_t position, const Graph& graph) const;

 private:
  // A quadratic function, by its value at the first sample and its forward differences there.
  struct Number {
    size_t position;  // among the plan's
    int64_t value, slope, curvature;
  };

  PlanTemplate(int64_t first, int64_t step) : first_(first), step_(step) {}

  const int64_t first_, step_;
  Plan plan_;                                        // at the first sample
  std::vector<Number> numbers_;                      // that vary
  std::vector<std::array<double, kSamples>> costs_;  // by step and sample
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_PLAN_TEMPLATE_H_
