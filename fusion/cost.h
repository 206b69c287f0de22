// What work costs: rough figures, by which the planner decides between ways of doing the same and
// by which launches are cut for threads.
#ifndef SLUICE_FUSION_COST_H_
#define SLUICE_FUSION_COST_H_

#include "sluice/fusion/program.h"

namespace sluice::fusion {

// Float functions cost many times an addition; everything else is about one.
inline bool is_costly(Op op) { return is_pointwise(op) && op_info(op).domain == kFloating; }

// What an op adds to the size of a kernel: about the machine instructions of a vector, in tens.
inline int weight_of(Op op) { return is_costly(op) ? 8 : 1; }

// Nanoseconds on one core with wide vectors for one point of the iteration space.
double cost_of_point(const Program& program);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_COST_H_
