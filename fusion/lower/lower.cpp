#include "fusion/lower/lower.h"

#include <algorithm>
#include <utility>

#include "fusion/ir/cost.h"
#include "fusion/lower/group_lowering.h"
#include "fusion/lower/schedule.h"
#include "fusion/partition/row_facts.h"
#include "fusion/partition/short_rows.h"

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

// `part`: of the concat that the group computes; null for a group that is one call.
bool lower_call(const Graph& graph, const Partition& partition, const Group& group,
                const ConcatPart* part, const MemoryMap& memory, Constraints* constraints,
                Step* step) {
  std::vector<Dim> dims = initial_dims(group);
  const Schedule schedule = schedule_of(group.space, group.axes);
  while (true) {
    GroupLowering lowering(graph, partition, group, memory, constraints, dims, schedule);
    std::optional<KernelCall> call =
        part == nullptr ? lowering.run(&step->bytes_read, &step->bytes_written)
                        : lowering.run_part(*part, &step->bytes_read, &step->bytes_written);
    if (call) {
      if (!constraints->saves_memory && lowering.mend_short_runs(*call)) return false;
      step->cost += cost_of_point(call->program) * static_cast<double>(call->num_points());
      step->kernels.push_back(*std::move(call));
      return true;
    }
    const std::optional<SplitDim> split = lowering.split();
    if (!split) return false;
    split_dim(dims, *split);
  }
}

// True if no access of the program takes its lanes one by one.
bool has_whole_vectors(const Program& program) {
  auto strided = std::count_if(program.accesses.begin(), program.accesses.end(),
                               [](const Access& x) { return x.lanes == StrideClass::kAny; });
  for (const std::vector<uint16_t>& run : program.interleaved) {
    strided -= std::count_if(run.begin(), run.end(), [](uint16_t x) { return x != kNoAccess; });
  }
  return strided == 0;
}

// The columns that the group joins computed at each point, if these are then read and written by
// whole vectors.
bool lower_columns(const Graph& graph, const Partition& partition, const Group& group,
                   const MemoryMap& memory, const Constraints& constraints, Step* step) {
  std::vector<int> axis = axis_of_columns(graph, partition, group);
  if (axis.empty()) return false;
  Group unrolled = group;
  unrolled.unrolled = std::move(axis);
  Constraints added = constraints;  // not the caller's: the group can be lowered otherwise
  Step columns;
  if (!lower_call(graph, partition, unrolled, nullptr, memory, &added, &columns) ||
      !has_whole_vectors(columns.kernels[0].program)) {
    return false;
  }
  *step = std::move(columns);
  return true;
}

bool lower_parts(const Graph& graph, const Partition& partition, Group group,
                 const MemoryMap& memory, Constraints* constraints, Step* step) {
  ConcatPart part;
  part.concat = group.members.back();  // all others are what it joins
  const GraphNode& concat = graph.nodes[part.concat];
  const auto axis = concat.attrs[0];
  for (; part.operand < concat.operands.size(); ++part.operand) {
    group.space = graph.nodes[concat.operands[part.operand].node].shape;
    if (group.space.numel() > 0 &&
        !lower_call(graph, partition, group, &part, memory, constraints, step)) {
      return false;
    }
    part.start += group.space[axis];
  }
  return true;
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
  if (group.by_parts) return lower_parts(graph, partition, group, memory, constraints, step);
  return (constraints->unrolls_rows &&
          lower_columns(graph, partition, group, memory, *constraints, step)) ||
         lower_call(graph, partition, group, nullptr, memory, constraints, step);
}

}  // namespace sluice::fusion
