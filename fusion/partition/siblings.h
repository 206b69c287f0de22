// Horizontal fusion of placed groups: kernels over the same space that read the same memory become
// one, which reads it once.
#ifndef SLUICE_FUSION_PARTITION_SIBLINGS_H_
#define SLUICE_FUSION_PARTITION_SIBLINGS_H_

#include <vector>

#include "fusion/graph/uses.h"
#include "fusion/partition/group_graph.h"

namespace sluice::fusion {

// Merges groups that read the same input or stored value, with as many elements as their spaces
// have points, where can_merge() allows it. `stored`: by node, as in Partition.
void merge_siblings(const Graph& graph, const Uses& uses, const std::vector<bool>& stored,
                    GroupGraph* groups);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PARTITION_SIBLINGS_H_
