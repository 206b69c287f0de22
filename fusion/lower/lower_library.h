// A library op becomes a library call.
#ifndef SLUICE_FUSION_LOWER_LOWER_LIBRARY_H_
#define SLUICE_FUSION_LOWER_LOWER_LIBRARY_H_

#include "fusion/graph/graph.h"
#include "fusion/lower/locate.h"
#include "fusion/lower/step.h"
#include "fusion/partition/partition.h"

namespace sluice::fusion {

// Lowers a group whose one member is a library op, as lower() does others.
bool lower_library(const Graph& graph, const Group& group, const MemoryMap& memory,
                   Constraints* constraints, Step* step);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_LOWER_LIBRARY_H_
