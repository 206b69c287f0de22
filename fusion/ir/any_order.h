// Reductions that give the same bits in any order of the elements: all but float sums and products,
// and those that give a position. What has no others may walk memory as it lies there.
#ifndef SLUICE_FUSION_IR_ANY_ORDER_H_
#define SLUICE_FUSION_IR_ANY_ORDER_H_

#include "fusion/ir/program.h"

namespace sluice::fusion {

bool takes_any_order(const Instr& reduction);

// True of a reduction that gives the same if it takes elements twice.
bool may_repeat(const Instr& reduction);

// True if all that a program gives are results of such reductions, or made of them.
bool takes_any_order(const Program& program);

// Likewise of positions of extremes too: they are the first ones, whichever lanes look for them.
bool takes_any_schedule(const Program& program);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_IR_ANY_ORDER_H_
