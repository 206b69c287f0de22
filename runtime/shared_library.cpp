#include "runtime/shared_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace sluice::runtime {

absl::StatusOr<SharedLibrary> SharedLibrary::open(const std::string& name) {
  void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absl::NotFoundError(dlerror());
  return SharedLibrary(handle, name);
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
