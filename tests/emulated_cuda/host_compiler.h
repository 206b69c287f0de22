// Compiles emitted kernels for the emulated device, by the host's C++ compiler.
#ifndef SLUICE_TESTS_EMULATED_CUDA_HOST_COMPILER_H_
#define SLUICE_TESTS_EMULATED_CUDA_HOST_COMPILER_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/cuda/compile/compiler.h"

namespace sluice::emulated {

// $CXX, or c++. The shared objects stay in a folder among the temporary files, by their source and
// the command, so that a test that is run again finds them. Processes may share the folder.
class HostCompiler : public kernels::cuda::Compiler {
 public:
  HostCompiler();

  // Where they stay. Beside each object is the kernels' text as it was given, in a file *.cu.
  // Code is loaded from it: it is nobody else's.
  static absl::StatusOr<std::filesystem::path> folder();

  absl::StatusOr<kernels::cuda::CompiledCode> compile(const std::string& text,
                                                      bool contracts) override;
  // Of a source that has its prelude. No kernels' text is left beside the object.
  absl::StatusOr<kernels::cuda::CompiledCode> compile_source(const std::string& source);

  std::string identity() const override { return command_; }

 private:
  absl::StatusOr<kernels::cuda::CompiledCode> build(const std::string& source,
                                                    const std::string* text);

  const std::string command_;  // but for the files
};

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_HOST_COMPILER_H_
