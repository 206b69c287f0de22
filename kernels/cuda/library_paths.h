// How NVIDIA's libraries are found.
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

// What to give to dlopen() for one of `names`, the best first, in the best order: the names, which
// the loader looks for in its own places, then files that exist, in the toolkit's usual folder,
// next to the executable and in those folders of Python's package `nvidia` (a pattern:
// "{cu13,cublas}/lib").
std::vector<std::string> library_candidates(absl::Span<const std::string> names,
                                            const std::string& package_folders);

// What `Find`, given the major version of a driver, answers to the first who asks. Thread-safe.
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
