#include "kernels/cuda/library_paths.h"

#include <glob.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sluice::kernels::cuda {
namespace {

std::string folder_of_executable() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

// Glob patterns of the folders of toolkits.
std::vector<std::string> toolkit_folders() {
  std::vector<std::string> folders;
  for (const char* const name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string root = environment_variable(name); !root.empty()) {
      folders.push_back(root + "/lib64");
    }
  }
  if (const std::string root = environment_variable("CONDA_PREFIX"); !root.empty()) {
    folders.push_back(root + "/lib");
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  return folders;
}

// Glob patterns of the folders of Python packages.
std::vector<std::string> python_folders() {
  std::vector<std::string> folders;
  for (const char* const name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string root = environment_variable(name); !root.empty()) {
      folders.push_back(root + "/lib/python3*/site-packages");
    }
  }
  const std::vector<std::string> python_path =
      absl::StrSplit(environment_variable("PYTHONPATH"), ':', absl::SkipEmpty());
  folders.insert(folders.end(), python_path.begin(), python_path.end());
  if (const std::string home = environment_variable("HOME"); !home.empty()) {
    folders.push_back(home + "/.local/lib/python3*/site-packages");
  }
  folders.emplace_back("/usr/local/lib/python3*/{dist,site}-packages");
  folders.emplace_back("/usr/lib/python3*/{dist,site}-packages");
  return folders;
}

void append_matches(const std::string& pattern, std::vector<std::string>* paths) {
  glob_t matches{};
  if (glob(pattern.c_str(), GLOB_BRACE, nullptr, &matches) == 0) {
    paths->insert(paths->end(), matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  }
  globfree(&matches);
}

}  // namespace

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> library_candidates(absl::Span<const std::string> names,
                                            const std::string& package_folders) {
  std::vector<std::string> paths(names.begin(), names.end());
  std::vector<std::string> folders = toolkit_folders();
  if (const std::string folder = folder_of_executable(); !folder.empty()) {
    folders.push_back(folder);
  }
  for (const std::string& folder : python_folders()) {
    folders.push_back(absl::StrCat(folder, "/nvidia/", package_folders));
  }
  for (const std::string& folder : folders) {
    for (const std::string& name : names) append_matches(absl::StrCat(folder, "/", name), &paths);
  }
  return paths;
}

std::vector<std::string> names_by_major(const std::string& stem, int driver_major, int behind) {
  constexpr int kOldest = 12, kNewest = 13;
  std::vector<std::string> names;
  for (int major = std::min(driver_major, kNewest); major >= kOldest; --major) {
    names.push_back(absl::StrCat(stem, major - behind));
  }
  return names;
}

}  // namespace sluice::kernels::cuda
