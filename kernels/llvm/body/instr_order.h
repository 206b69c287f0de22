// The order in which the instructions of a pointwise body are emitted.
//
// A body is in the order in which a walk from its results comes across them. Where results are
// gathered along a recurrence, as a count of its steps, that computes all steps first and keeps
// them; LLVM moves hardly anything in a block as long as that.
#ifndef SLUICE_KERNELS_LLVM_INSTR_ORDER_H_
#define SLUICE_KERNELS_LLVM_INSTR_ORDER_H_

#include <vector>

#include "fusion/ir/program.h"

namespace sluice::kernels {

// The most values that are needed at one time, of those that are `varying`, if `instrs` run in this
// order.
int most_alive(const fusion::Program& program, const std::vector<fusion::ValueId>& instrs,
               const std::vector<bool>& varying);

// Puts `instrs`, which are in the order of the body, into one that needs fewer registers, if
// theirs needs more than there are, with so many vectors for each value that is `varying`.
void save_registers(const fusion::Program& program, const std::vector<bool>& varying, int vectors,
                    std::vector<fusion::ValueId>* instrs);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LLVM_INSTR_ORDER_H_
