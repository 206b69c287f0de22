// Compiles emitted kernels for the emulated device with the host's C++ compiler.
#ifndef SLUICE_TESTS_EMULATED_CUDA_HOST_COMPILER_H_
#define SLUICE_TESTS_EMULATED_CUDA_HOST_COMPILER_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/cuda/compile/compiler.h"

namespace sluice::emulated {

// Runs $CXX, or the compiler that this program is built with. Shared objects are kept in a
// temporary folder, keyed by source and command, so that later test runs find them. Processes may
// share the folder.
class HostCompiler : public kernels::cuda::Compiler {
 public:
  HostCompiler();

  // The compiler that it runs.
  static std::string program();

  // The folder. Beside each object is the kernels' text, in a file *.cu. Code is loaded from it, so
  // it must belong to this user alone.
  static absl::StatusOr<std::filesystem::path> folder();

  absl::StatusOr<kernels::cuda::CompiledCode> compile(const std::string& text,
                                                      bool contracts) override;
  // Compiles a source that includes its prelude. Leaves no *.cu file.
  absl::StatusOr<kernels::cuda::CompiledCode> compile_source(const std::string& source);

  std::string identity() const override { return command_; }

 private:
  absl::StatusOr<kernels::cuda::CompiledCode> build(const std::string& source,
                                                    const std::string* text);

  const std::string command_;  // without file names
};

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_HOST_COMPILER_H_
