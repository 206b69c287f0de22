// Built where LLVM is missing: kernels stay on the interpreter.
#include "absl/status/status.h"
#include "kernels/compiled/compiler.h"

namespace sluice::kernels {
namespace {

absl::Status missing() { return absl::UnavailableError(llvm_problem()); }

}  // namespace

absl::StatusOr<std::shared_ptr<const Executable>> compile_llvm(const fusion::Program&, DiskCache*,
                                                               bool*) {
  return missing();
}

bool llvm_available() { return false; }

std::string llvm_problem() { return "built without LLVM"; }

std::string llvm_version() { return {}; }

std::string llvm_target() { return {}; }

absl::StatusOr<std::string> llvm_ir_text(const fusion::Program&) { return missing(); }

absl::StatusOr<std::string> llvm_assembly_text(const fusion::Program&) { return missing(); }

}  // namespace sluice::kernels
