// Which graphs may have their plans made between those of others: see plan_family.h.
#ifndef SLUICE_FUSION_PLAN_FAMILY_RULES_H_
#define SLUICE_FUSION_PLAN_FAMILY_RULES_H_

#include "fusion/graph/graph.h"

namespace sluice::fusion {

// `first` and `last` have one structure; the numbers of the graphs between them are linear. True if
// every decision that could make a plan of one of those wrong, and not only slow,
//   - asks whether two polynomials of at most the third degree are equal (extents, strides,
//     constants), which at four points means everywhere,
//   - compares linear functions, which if they compare alike at both ends do so in between,
//   - or depends on constants alone, as where a reshape regroups extents that are constant.
// Divisions are what has to be kept out: those of rolls and of reshapes of what varies.
bool may_have_family(const Graph& first, const Graph& last);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_FAMILY_RULES_H_
