// Pixels made of a few planes in short runs, as patches of (3, height, width) are cut into rows of
// (4, 4, 3).
#ifndef SLUICE_FUSION_LOWER_LOOPS_SPLIT_PLANES_H_
#define SLUICE_FUSION_LOWER_LOOPS_SPLIT_PLANES_H_

#include "fusion/lower/loops/loop_nest.h"
#include "fusion/lower/step.h"

namespace sluice::fusion {

// If a pointwise program reads planes that lie far apart along the lanes, and short runs of each
// along the dim before, gives each plane an access of its own, which is the same along the lanes: a
// lane selects its plane, and pack_rows() finds rows whose elements are read in whole vectors. The
// longest dim becomes that of these rows.
void split_planes(LoopNest* nest, KernelCall* call);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_LOOPS_SPLIT_PLANES_H_
