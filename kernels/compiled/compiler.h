// The compiled CPU tier: a Program becomes native code for this machine through LLVM.
//
// Compiled kernels give the bits that the interpreter gives. Where LLVM is missing, no_llvm.cpp is
// built instead of the rest of this folder. What needs LLVM itself is in kernels/llvm: it is loaded
// by the first call of the functions below that has to generate code, or to tell what it would be
// for.
#ifndef SLUICE_KERNELS_COMPILED_COMPILER_H_
#define SLUICE_KERNELS_COMPILED_COMPILER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "fusion/ir/program.h"
#include "kernels/cache/disk_cache.h"
#include "kernels/executable.h"

namespace sluice::kernels {

// `program` must have passed fusion::verify(). Takes milliseconds. Thread-safe; calls on several
// threads run side by side. Unimplemented where LLVM is missing or the CPU lacks an instruction
// that the program needs. The code is freed with the executable.
//
// With a `cache`, code is looked up there first and put there after compiling; `from_cache` says
// which it was.
absl::StatusOr<std::shared_ptr<const Executable>> compile_llvm(const fusion::Program& program,
                                                               DiskCache* cache = nullptr,
                                                               bool* from_cache = nullptr);

// Whether code can be generated at all. Loads LLVM.
bool llvm_available();

// Why it cannot, for people. Empty if it can.
std::string llvm_problem();

// "LLVM 19.1.7"; empty if built without.
std::string llvm_version();

// The CPU and its vector width, all that compiled code depends on besides the program and the
// version: "znver4/512:<features>". Empty if not available. Loads LLVM.
std::string llvm_target();

// The IR before code generation, for people.
absl::StatusOr<std::string> llvm_ir_text(const fusion::Program& program);
// The assembly, likewise.
absl::StatusOr<std::string> llvm_assembly_text(const fusion::Program& program);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_COMPILED_COMPILER_H_
