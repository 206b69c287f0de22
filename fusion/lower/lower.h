// A group of the partition becomes a Program and its arguments.
#ifndef SLUICE_FUSION_LOWER_LOWER_H_
#define SLUICE_FUSION_LOWER_LOWER_H_

#include "fusion/graph/graph.h"
#include "fusion/lower/locate.h"
#include "fusion/lower/step.h"
#include "fusion/partition/partition.h"

namespace sluice::fusion {

// Lowers a group of kernels' ops to *step. Returns false if that is impossible under `constraints`,
// and then has added a constraint under which the graph has to be partitioned again.
bool lower(const Graph& graph, const Partition& partition, const Group& group,
           const MemoryMap& memory, Constraints* constraints, Step* step);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_LOWER_H_
