// Which values the call of a product could compute after the product.
#ifndef SLUICE_FUSION_PARTITION_EPILOGUE_ENDS_H_
#define SLUICE_FUSION_PARTITION_EPILOGUE_ENDS_H_

#include "fusion/graph/uses.h"

namespace sluice::fusion {

// True if `n` is what epilogues (fusion/plan/epilogues.h) make of a product that nobody else reads,
// of operands that are in memory anyway. A kernel that computes nothing but `n` becomes a part of
// the product's call.
bool ends_epilogues(const Graph& graph, const Constraints& constraints, const Uses& uses, NodeId n);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PARTITION_EPILOGUE_ENDS_H_
