// Fuses two arithmetic instructions into one loop, so that the value between them stays in a vector
// register: cheap instructions take as long as their loads and stores.
#ifndef SLUICE_KERNELS_INTERP_PAIRS_H_
#define SLUICE_KERNELS_INTERP_PAIRS_H_

#include <vector>

#include "kernels/interp/bytecode.h"

namespace sluice::kernels::interp {

// Replaces two consecutive instructions by one where the second is the only reader of the first and
// LoopTable::pair has a loop for them. Each op still rounds: no bit changes.
void pair_instructions(std::vector<Instruction>* code);

}  // namespace sluice::kernels::interp

#endif  // SLUICE_KERNELS_INTERP_PAIRS_H_
