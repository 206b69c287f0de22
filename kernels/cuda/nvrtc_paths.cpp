#include "sluice/kernels/cuda/nvrtc_paths.h"

#include <glob.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sluice::kernels::cuda {
namespace {

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string folder_of_executable() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

// Patterns of the folders of Python packages.
std::vector<std::string> package_folders() {
  std::vector<std::string> folders;
  if (const std::string root = variable("VIRTUAL_ENV"); !root.empty()) {
    folders.push_back(root + "/lib/python3*/site-packages");
  }
  const std::vector<std::string> python_path =
      absl::StrSplit(variable("PYTHONPATH"), ':', absl::SkipEmpty());
  folders.insert(folders.end(), python_path.begin(), python_path.end());
  if (const std::string home = variable("HOME"); !home.empty()) {
    folders.push_back(home + "/.local/lib/python3*/site-packages");
  }
  folders.push_back("/usr/local/lib/python3*/{dist,site}-packages");
  folders.push_back("/usr/lib/python3*/{dist,site}-packages");
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

std::string named_nvrtc() { return variable("SLUICE_NVRTC"); }

std::vector<std::string> nvrtc_candidates() {
  std::vector<std::string> paths(std::begin(kNames), std::end(kNames));
  std::vector<std::string> folders = {"/usr/local/cuda/lib64"};
  if (const std::string folder = folder_of_executable(); !folder.empty()) {
    folders.push_back(folder);
  }
  for (const std::string& folder : package_folders()) {
    folders.push_back(folder + "/nvidia/{cu13,cuda_nvrtc}/lib");
  }
  for (const std::string& folder : folders) {
    for (const char* name : kNames) append_matches(absl::StrCat(folder, "/", name), &paths);
  }
  return paths;
}

}  // namespace sluice::kernels::cuda
