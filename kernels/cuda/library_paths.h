// Finds NVIDIA's libraries.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_PATHS_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_PATHS_H_

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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

// `stem` and a major version, the newest first, of the libraries for a driver of this one: those of
// CUDA 12 and 13, whose number may be `behind` CUDA's.
std::vector<std::string> names_by_major(const std::string& stem, int driver_major, int behind = 0);

// A library that Sluice does without if there is none.
struct LibrarySearch {
  const char* library;   // "cuDNN"
  const char* variable;  // "SLUICE_CUDNN": names one to use instead, or is "off"
  std::vector<std::string> names;
  const char* package_folders;  // as in library_candidates()
  const char* file;             // for people, who are told that it was not found
  const char* source;           // what to install
};

// The table of the first library that `load` takes, which is told whether the user named it; it is
// never given back. kFailedPrecondition with a message for the user if there is none.
template <typename Table>
absl::StatusOr<const Table*> find_library(
    const LibrarySearch& search,
    absl::FunctionRef<absl::StatusOr<Table>(const std::string& path, bool is_named)> load) {
  const std::string named = environment_variable(search.variable);
  if (named == "off") {
    return absl::FailedPreconditionError(
        absl::StrCat(search.variable, " says that ", search.library, " is not to be used"));
  }
  const bool is_named = !named.empty();
  absl::Status why = absl::OkStatus();
  for (const std::string& path : is_named
                                     ? std::vector<std::string>{named}
                                     : library_candidates(search.names, search.package_folders)) {
    const absl::StatusOr<Table> table = load(path, is_named);
    if (table.ok()) return new Table(*table);
    why = table.status();
  }
  if (is_named) {
    return absl::FailedPreconditionError(
        absl::StrCat("the library that ", search.variable,
                     " names cannot be used: ", std::string(why.message())));
  }
  return absl::FailedPreconditionError(absl::StrCat(search.file, " was not found (install ",
                                                    search.source, ", or set ", search.variable,
                                                    " to the library's path)"));
}

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
