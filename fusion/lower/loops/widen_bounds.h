// Bounds on an index, as those of pad and concat, where they alone tell two dims apart.
#ifndef SLUICE_FUSION_LOWER_WIDEN_BOUNDS_H_
#define SLUICE_FUSION_LOWER_WIDEN_BOUNDS_H_

#include "fusion/lower/loops/loop_nest.h"
#include "fusion/lower/step.h"

namespace sluice::fusion {

// Further simplifies the dims of a pointwise program, of which indices may be compared with bounds
// along a dim whose elements are runs along the next one, as when an image of (height, width, 3) is
// padded along its width. Where everything else walks the two dims as one, so does then the index:
// of the element j of a run of n, index < bound is index * n + j < bound * n. Runs become as long
// as rows.
void widen_bounds(LoopNest* nest, KernelCall* call);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_WIDEN_BOUNDS_H_
