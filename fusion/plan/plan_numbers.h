// The numbers of graphs and plans: what sizes decide, apart from the structure.
#ifndef SLUICE_FUSION_PLAN_PLAN_NUMBERS_H_
#define SLUICE_FUSION_PLAN_PLAN_NUMBERS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "fusion/graph/graph.h"
#include "fusion/plan/plan.h"

namespace sluice::fusion {

// All of a graph but its numbers: graphs of one structure have as many numbers, in one order.
std::vector<int64_t> structure_of(const Graph& graph);

// First the extents of all nodes, then strides of inputs that have gaps or another order than
// row-major, starts of slices, elements before a pad's operand.
std::vector<int64_t> numbers_of(const Graph& graph);
// Inputs then have a block each, without gaps around them.
void set_numbers(absl::Span<const int64_t> numbers, Graph* graph);

// True if the plans differ in numbers alone.
bool same_structure(const Plan& a, const Plan& b);

// Extents, strides, offsets, parameters, bytes. Not the shapes of outputs, which the graph has, nor
// costs.
std::vector<int64_t> numbers_of(const Plan& plan);

// One of the numbers, by its position among them.
struct PlanNumber {
  size_t position = 0;
  int64_t value = 0;
};
// `numbers` are in order; others stay.
void set_numbers(absl::Span<const PlanNumber> numbers, Plan* plan);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_PLAN_NUMBERS_H_
