// Two arithmetic steps in one loop, so that what lies between them stays in vector registers: light
// steps take as long as their loads and stores do.
#ifndef SLUICE_KERNELS_INTERP_PAIRS_H_
#define SLUICE_KERNELS_INTERP_PAIRS_H_

#include <vector>

#include "kernels/interp/bytecode.h"

namespace sluice::kernels::interp {

// Makes one step of each two that follow one another if the second is the only reader of the first
// and LoopTable::pair has a loop for them. Each op still rounds: no bit changes.
void pair_steps(std::vector<Step>* steps);

}  // namespace sluice::kernels::interp

#endif  // SLUICE_KERNELS_INTERP_PAIRS_H_
