// Which lanes a reduction's order is made for, and with it that order (kernels/reduction.h).
#ifndef SLUICE_FUSION_LOWER_SCHEDULE_H_
#define SLUICE_FUSION_LOWER_SCHEDULE_H_

#include <vector>

#include <sluice/shape.h>
#include "fusion/ir/program.h"

namespace sluice::fusion {

// Of a group over `space` that reduces `axes`. By the logical shape alone: a reduction's order must
// not depend on the layout in memory.
Schedule schedule_of(const Shape& space, const std::vector<int>& axes);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_SCHEDULE_H_
