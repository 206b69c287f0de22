// Rows of a few points, as in an image of three channels: which programs pack several of them into
// a vector.
#ifndef SLUICE_FUSION_LOWER_PACK_ROWS_H_
#define SLUICE_FUSION_LOWER_PACK_ROWS_H_

#include <cstdint>

#include "fusion/ir/program.h"
#include "fusion/lower/loops/loop_nest.h"

namespace sluice::fusion {

// Rows that are only moved are packed if there are so many in all, and so many along the dim before
// them, which then fill a vector.
inline constexpr int64_t kMinMovedRows = 2048, kFillsVector = 8;

// Sets Program::packed and the fields of accesses that belong to it, if the last dims of a
// pointwise program are short and the dim before them is long.
void pack_rows(const LoopNest& nest, Program* program);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_PACK_ROWS_H_
