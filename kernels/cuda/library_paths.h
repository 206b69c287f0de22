// Finds NVIDIA's libraries.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_PATHS_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_PATHS_H_

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace sluice::kernels::cuda {

// The value of an environment variable; "" if it is not set.
std::string environment_variable(const char* name);

// Arguments for dlopen(), in the order in which to try them, for `names`, which are in order of
// preference: first the names, for the loader's own search path, then files that exist in toolkits
// (CUDA_HOME, CUDA_PATH, CONDA_PREFIX, the usual folder), next to the executable, and in folders of
// Python's package `nvidia` that match a pattern ("{cu13,cublas}/lib").
std::vector<std::string> library_candidates(absl::Span<const std::string> names,
                                            const std::string& package_folders);

// Find(major version of the driver), called once for each version. Thread-safe.
template <auto Find>
auto found_once(int driver_version) {
  static std::mutex mutex;
  static auto* const found = new std::map<int, decltype(Find(0))>;  // by major version
  const int major = driver_version / 1000;
  std::lock_guard lock(mutex);
  auto it = found->find(major);
  if (it == found->end()) it = found->emplace(major, Find(major)).first;
  return it->second;
}

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_PATHS_H_
