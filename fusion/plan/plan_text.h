// Plans as text, for people.
#ifndef SLUICE_FUSION_PLAN_PLAN_TEXT_H_
#define SLUICE_FUSION_PLAN_PLAN_TEXT_H_

#include <string>

#include "fusion/graph/graph.h"
#include "fusion/plan/plan.h"

namespace sluice::fusion {

// One line for each step and for each value that goes through memory. `graph` is the plan's.
std::string to_text(const Graph& graph, const Plan& plan);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_PLAN_TEXT_H_
