// Loads the generator from the library that lies beside this one.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/compiled/generator.h"
#include "runtime/shared_library.h"

namespace sluice::kernels {
namespace {

// Where to look, in this order.
std::vector<std::string> paths() {
  // A set-user-ID program must not load what its user chose.
  if (const char* path = secure_getenv("SLUICE_LLVM_PLUGIN")) return {path};
  std::vector<std::string> result;
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&find_generator), &info) != 0) {
    // Programs may have it by a link from another folder.
    if (char* path = realpath(info.dli_fname, nullptr)) {
      const char* name = std::strrchr(path, '/') + 1;
      result.push_back(absl::StrCat(absl::string_view(path, name - path), SLUICE_LLVM_PLUGIN_NAME));
      std::free(path);
    }
  }
  result.push_back(SLUICE_LLVM_PLUGIN_NAME);
  return result;
}

absl::StatusOr<const Generator*> load() {
  std::string problem;
  for (const std::string& path : paths()) {
    absl::StatusOr<runtime::SharedLibrary> library = runtime::SharedLibrary::open(path);
    if (!library.ok()) {
      absl::StrAppend(&problem, problem.empty() ? "" : "; ", library.status().message());
      continue;
    }
    decltype(&sluice_llvm_generator) exported = nullptr;
    library->find("sluice_llvm_generator", &exported);
    // LLVM does not survive being unloaded.
    library->keep();
    if (exported == nullptr) return absl::UnavailableError(library->status().message());
    const Generator* const generator = exported([] {});
    if (std::strcmp(generator->fingerprint, fingerprint()) != 0) {
      return absl::UnavailableError(absl::StrCat(path, " is of another build of sluice"));
    }
    return generator;
  }
  return absl::UnavailableError(problem);
}

}  // namespace

absl::StatusOr<const Generator*> find_generator() {
  static const auto& generator = *new absl::StatusOr<const Generator*>(load());
  return generator;
}

}  // namespace sluice::kernels
