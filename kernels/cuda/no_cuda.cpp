// CUDA is not built in.
#include "kernels/cuda/executor.h"

namespace sluice::kernels::cuda {

absl::StatusOr<std::unique_ptr<Executor>> make_executor(int) {
  return absl::FailedPreconditionError("this build of sluice is without CUDA");
}

std::string description() { return "not built in"; }

}  // namespace sluice::kernels::cuda
