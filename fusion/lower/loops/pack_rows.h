// Rows of a few points, as in an image of three channels: which programs pack several of them into
// a vector.
#ifndef SLUICE_FUSION_LOWER_PACK_ROWS_H_
#define SLUICE_FUSION_LOWER_PACK_ROWS_H_

#include "fusion/ir/program.h"
#include "fusion/lower/loops/loop_nest.h"

namespace sluice::fusion {

// Sets Program::packed and the fields of accesses that belong to it, if the last dims of a
// pointwise program are short and the dim before them is long.
void pack_rows(const LoopNest& nest, Program* program);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_PACK_ROWS_H_
