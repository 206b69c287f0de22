#include "fusion/lower/lower.h"

#include <algorithm>
#include <utility>

#include "fusion/ir/cost.h"
#include "fusion/lower/group_lowering.h"

namespace sluice::fusion {
namespace {

bool is_reduced(const Group& group, int axis) {
  return std::find(group.axes.begin(), group.axes.end(), axis) != group.axes.end();
}

// Outer axes before reduced ones, each in order.
std::vector<Dim> initial_dims(const Group& group) {
  std::vector<Dim> dims;
  for (const bool reduced : {false, true}) {
    for (int k = 0; k < group.space.rank(); ++k) {
      if (is_reduced(group, k) == reduced) dims.push_back({group.space[k], reduced, k});
    }
  }
  return dims;
}

void split_dim(std::vector<Dim>& dims, const SplitDim& split) {
  Dim inner = dims[split.dim];
  inner.extent = split.inner;
  dims[split.dim].extent /= split.inner;
  dims.insert(dims.begin() + split.dim + 1, inner);
}

// By the logical shape alone: a reduction's order must not depend on the layout in memory.
Schedule schedule_of(const Group& group) {
  if (group.axes.empty()) return Schedule::kPointwise;
  for (int k = group.space.rank() - 1; k >= 0; --k) {
    if (group.space[k] != 1) return is_reduced(group, k) ? Schedule::kRow : Schedule::kColumn;
  }
  return Schedule::kRow;
}

}  // namespace

bool lower(const Graph& graph, const Partition& partition, const Group& group,
           const MemoryMap& memory, Constraints* constraints, Step* step) {
  std::vector<Dim> dims = initial_dims(group);
  while (true) {
    GroupLowering lowering(graph, partition, group, memory, constraints, dims, schedule_of(group));
    std::optional<KernelCall> call = lowering.run(&step->bytes_read, &step->bytes_written);
    if (call) {
      step->cost = cost_of_point(call->program) * static_cast<double>(group.space.numel());
      step->kernels.push_back(*std::move(call));
      return true;
    }
    const std::optional<SplitDim> split = lowering.split();
    if (!split) return false;
    split_dim(dims, *split);
  }
}

}  // namespace sluice::fusion
