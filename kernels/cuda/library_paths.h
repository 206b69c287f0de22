// Where NVIDIA's libraries may be.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_PATHS_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_PATHS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace sluice::kernels::cuda {

// The value of an environment variable; "" if it is not set.
std::string environment_variable(const char* name);

// What to give to dlopen() for one of `names`, the best first, in the best order: the names, which
// the loader looks for in its own places, then files that exist, in the toolkit's usual folder,
// next to the executable and in those folders of Python's package `nvidia` (a pattern:
// "{cu13,cublas}/lib").
std::vector<std::string> library_candidates(absl::Span<const std::string> names,
                                            const std::string& package_folders);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_PATHS_H_
