// The interpreter tier: runs any Program without compiling it.
#ifndef SLUICE_KERNELS_INTERP_INTERPRETER_H_
#define SLUICE_KERNELS_INTERP_INTERPRETER_H_

#include <memory>

#include "fusion/ir/program.h"
#include "kernels/executable.h"

namespace sluice::kernels {

// `program` must have passed fusion::verify(). Takes microseconds: it is translated to bytecode.
std::shared_ptr<const Executable> make_interpreter(const fusion::Program& program);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_INTERP_INTERPRETER_H_
