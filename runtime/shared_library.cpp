#include "runtime/shared_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace sluice::runtime {

absl::StatusOr<SharedLibrary> SharedLibrary::open(const std::string& name) {
  void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absl::NotFoundError(dlerror());
  return SharedLibrary(handle, name);
}

absl::StatusOr<SharedLibrary> SharedLibrary::open_beside(const std::string& name) {
  std::string problem;
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&open_beside), &info) != 0) {
    // Programs may have it by a link from another folder.
    std::error_code error;
    const auto self = std::filesystem::canonical(info.dli_fname, error);
    if (!error) {
      absl::StatusOr<SharedLibrary> library = open(self.parent_path() / name);
      if (library.ok()) return library;
      problem = absl::StrCat(library.status().message(), "; ");
    }
  }
  absl::StatusOr<SharedLibrary> library = open(name);
  if (library.ok()) return library;
  return absl::NotFoundError(absl::StrCat(problem, library.status().message()));
}

void* SharedLibrary::address_of(const char* symbol) {
  void* const address = dlsym(handle_.get(), symbol);
  if (address == nullptr) {
    status_.Update(absl::NotFoundError(absl::StrCat(name_, " has no ", symbol)));
  }
  return address;
}

void SharedLibrary::Close::operator()(void* handle) const { dlclose(handle); }

}  // namespace sluice::runtime
