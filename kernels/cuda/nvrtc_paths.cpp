#include "sluice/kernels/cuda/nvrtc_paths.h"

#include "sluice/kernels/cuda/library_paths.h"

namespace sluice::kernels::cuda {

std::string named_nvrtc() { return environment_variable("SLUICE_NVRTC"); }

std::vector<std::string> nvrtc_candidates() {
  const std::vector<std::string> names = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};
  return library_candidates(names, "{cu13,cuda_nvrtc}/lib");
}

}  // namespace sluice::kernels::cuda
