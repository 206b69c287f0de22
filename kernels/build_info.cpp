// build_info(): what this build can do.
#include <string>

#include <sluice/config.h>
#include "absl/strings/str_cat.h"
#include "kernels/compiled/compiler.h"
#include "kernels/cuda/executor.h"
#include "kernels/library/matmul.h"
#include "runtime/cpu/parallel.h"

namespace sluice {

std::string build_info() {
  const std::string problem = kernels::llvm_problem();
  const std::string target = kernels::llvm_target();
  const std::string cpu = target.substr(0, target.find(':'));
  return absl::StrCat("compiler: ", __VERSION__, "\nkernels: ",
                      problem.empty() ? absl::StrCat(kernels::llvm_version(), " for ", cpu)
                                      : absl::StrCat("interpreted only (", problem, ")"),
                      "\nmatmul: ", kernels::matmul_library(), "\nthreads: ", num_threads(),
                      "\nCUDA: ", kernels::cuda::description(), "\n");
}

}  // namespace sluice
