// A Program as an LLVM module: functions "rows", "block" and "finish" (see EntryPoints in
// kernels/executable.h), the latter two only where the program's rows can be split. Includes LLVM.
#ifndef SLUICE_KERNELS_LLVM_EMIT_KERNEL_H_
#define SLUICE_KERNELS_LLVM_EMIT_KERNEL_H_

#include "fusion/ir/program.h"
#include "llvm/IR/Module.h"

namespace sluice::kernels {

void emit_kernel(const fusion::Program& program, llvm::Module& module);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LLVM_EMIT_KERNEL_H_
