// Compiles emitted kernels for the emulated device, by the host's C++ compiler.
#ifndef SLUICE_TESTS_EMULATED_CUDA_HOST_COMPILER_H_
#define SLUICE_TESTS_EMULATED_CUDA_HOST_COMPILER_H_

#include <string>

#include "absl/status/statusor.h"
#include "sluice/kernels/cuda/compiler.h"

namespace sluice::emulated {

// $CXX, or c++. The shared objects stay in a folder among the temporary files, by their source and
// the command, so that a test that is run again finds them. Processes may share the folder.
class HostCompiler : public kernels::cuda::Compiler {
 public:
  HostCompiler();

  // Where they stay. Beside each object is the kernels' text as it was given, in a file *.cu.
  static absl::StatusOr<std::string> folder();

  absl::StatusOr<kernels::cuda::CompiledCode> compile(const std::string& text,
                                                      bool contracts) override;
  std::string identity() const override { return command_; }

 private:
  const std::string command_;  // but for the files
};

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_HOST_COMPILER_H_
