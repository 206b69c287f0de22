// Planes taken out of pixels, as an image of (height, width, 3) becomes one of (3, height, width).
#ifndef SLUICE_FUSION_LOWER_UNROLL_PLANES_H_
#define SLUICE_FUSION_LOWER_UNROLL_PLANES_H_

#include "fusion/lower/loops/loop_nest.h"
#include "fusion/lower/step.h"

namespace sluice::fusion {

// If a pointwise program reads every few-th element along the lanes, and those between along a dim
// before them, has each point compute all planes: they are then read once, in whole vectors
// (find_interleaved()), not once for each plane. So it does where most of what a point computes is
// the same for all of a few planes. The dim's extent becomes 1.
void unroll_planes(LoopNest* nest, KernelCall* call);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_UNROLL_PLANES_H_
