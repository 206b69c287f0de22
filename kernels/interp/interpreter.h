// The generic tier: runs any Program at once, with no compilation.
#ifndef SLUICE_KERNELS_INTERP_INTERPRETER_H_
#define SLUICE_KERNELS_INTERP_INTERPRETER_H_

#include <memory>

#include "fusion/ir/program.h"
#include "kernels/executable.h"

namespace sluice::kernels {

// Any program that fusion::verify accepts. Cheap (microseconds): it only translates to bytecode.
std::shared_ptr<const Executable> make_interpreter(const fusion::Program& program);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_INTERP_INTERPRETER_H_
