// A group of the partition becomes a Program and its arguments.
#ifndef SLUICE_FUSION_LOWER_LOWER_H_
#define SLUICE_FUSION_LOWER_LOWER_H_

#include <optional>
#include <vector>

#include "fusion/graph/graph.h"
#include "fusion/lower/step.h"
#include "fusion/partition/partition.h"

namespace sluice::fusion {

// Where values are in memory, as far as the plan has come.
struct MemoryMap {
  std::vector<int32_t> input;   // by node: the number of the input, or -1
  std::vector<int32_t> result;  // by node: the number of the result, or -1
};

// The memory that `node` can be read from directly and how, through any number of views; nullopt if
// strides cannot say so (then *blocking is the view that would have to be copied).
struct Located {
  MemoryRef memory;
  Layout layout;
};
std::optional<Located> locate(const Graph& graph, const Constraints& constraints,
                              const MemoryMap& memory, NodeId node, NodeId* blocking);

// Lowers `group`; false if it cannot be done under `constraints`, to which what stood in the way
// has then been added.
bool lower(const Graph& graph, const Partition& partition, const Group& group,
           const MemoryMap& memory, Constraints* constraints, Step* step);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_LOWER_H_
