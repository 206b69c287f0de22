// Where libnvrtc may be.
#ifndef SLUICE_KERNELS_CUDA_NVRTC_PATHS_H_
#define SLUICE_KERNELS_CUDA_NVRTC_PATHS_H_

#include <string>
#include <vector>

namespace sluice::kernels::cuda {

// $SLUICE_NVRTC; "" if it is not set.
std::string named_nvrtc();

// What to give to dlopen(), best first: names that the loader looks for in its own places, then
// files that exist, in the toolkit's usual folder, next to the executable and in Python packages.
std::vector<std::string> nvrtc_candidates();

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_NVRTC_PATHS_H_
