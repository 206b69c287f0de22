// The code generator: all of this library that needs LLVM (kernels/llvm). A shared libsluice has it
// in a library of its own, with LLVM, which is loaded when the first kernel is compiled: LLVM takes
// longer to load than most programs take to start.
#ifndef SLUICE_KERNELS_COMPILED_GENERATOR_H_
#define SLUICE_KERNELS_COMPILED_GENERATOR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fusion/ir/program.h"

namespace sluice::kernels {

enum class CodeKind : uint8_t { kObject, kIr, kAssembly };

struct Generator {
  // fingerprint() of its build.
  const char* fingerprint;
  // See llvm_target(). Thread-safe, as is generate().
  std::string (*target)();
  // kUnavailable if this machine is not known, kUnimplemented if it lacks an instruction that the
  // program needs.
  absl::Status (*generate)(const fusion::Program& program, CodeKind kind, std::string* code);
};

// The generator, loaded at the first call. kUnavailable, with the reason, where there is none.
absl::StatusOr<const Generator*> find_generator();

// Of the sources that code depends on, and of LLVM's version: builds of equal fingerprints generate
// equal code and can use each other's.
const char* fingerprint();

}  // namespace sluice::kernels

// What the library with the generator exports. It calls `before_pass` once LLVM is ready and, where
// LLVM tells, before each of its passes: static objects may have been constructed since, whose
// destructors exit() will call.
extern "C" [[gnu::visibility("default")]] const sluice::kernels::Generator* sluice_llvm_generator(
    void (*before_pass)());

#endif  // SLUICE_KERNELS_COMPILED_GENERATOR_H_
