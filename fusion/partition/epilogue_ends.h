// Which values the call of a product could compute after the product.
#ifndef SLUICE_FUSION_PARTITION_EPILOGUE_ENDS_H_
#define SLUICE_FUSION_PARTITION_EPILOGUE_ENDS_H_

#include <vector>

#include "fusion/graph/uses.h"

namespace sluice::fusion {

// True if `n` is what epilogues (fusion/plan/epilogues.h) make of a product that nobody else reads,
// of operands that are in memory anyway. A kernel that computes nothing but `n` becomes a part of
// the product's call.
bool ends_epilogues(const Graph& graph, const Constraints& constraints, const Uses& uses, NodeId n);

// Factors of products, as a gradient of an activation is: what makes one of a value in memory could
// write over that, and the product's call (EpilogueUse::kInPlace) over the factor. A kernel of both
// would have the value and the product in memory at the same time.
std::vector<NodeId> find_factors(const Graph& graph, const Constraints& constraints);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PARTITION_EPILOGUE_ENDS_H_
