#include "fusion/lower/lower.h"

#include <algorithm>
#include <utility>

#include "fusion/ir/cost.h"
#include "fusion/lower/group_lowering.h"
#include "fusion/lower/schedule.h"
#include "fusion/partition/row_facts.h"

namespace sluice::fusion {
namespace {

bool contains(const std::vector<int>& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// Outer axes before reduced ones, each in order.
std::vector<Dim> initial_dims(const Group& group) {
  std::vector<Dim> dims;
  for (const bool reduced : {false, true}) {
    for (int k = 0; k < group.space.rank(); ++k) {
      if (contains(group.unrolled, k) || contains(group.axes, k) != reduced) continue;
      dims.push_back({group.space[k], reduced, k});
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

}  // namespace

Schedule schedule_of(const Shape& space, const std::vector<int>& axes) {
  if (axes.empty()) return Schedule::kPointwise;
  for (int k = space.rank() - 1; k >= 0; --k) {
    if (space[k] != 1) return contains(axes, k) ? Schedule::kRow : Schedule::kColumn;
  }
  return Schedule::kRow;
}

bool lower(const Graph& graph, const Partition& partition, const Group& group,
           const MemoryMap& memory, Constraints* constraints, Step* step) {
  std::vector<Dim> dims = initial_dims(group);
  const Schedule schedule = schedule_of(group.space, group.axes);
  while (true) {
    GroupLowering lowering(graph, partition, group, memory, constraints, dims, schedule);
    std::optional<KernelCall> call = lowering.run(&step->bytes_read, &step->bytes_written);
    if (call) {
      step->cost =
          cost_of_point(call->program) *
          static_cast<double>(group.space.numel() / row_length(group.space, group.unrolled));
      step->kernels.push_back(*std::move(call));
      return true;
    }
    const std::optional<SplitDim> split = lowering.split();
    if (!split) return false;
    split_dim(dims, *split);
  }
}

}  // namespace sluice::fusion
