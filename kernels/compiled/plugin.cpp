// Loads the generator from the library that lies beside this one.
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "kernels/compiled/generator.h"
#include "runtime/shared_library.h"

namespace sluice::kernels {
namespace {

absl::StatusOr<const Generator*> load() {
  // A set-user-ID program must not load what its user chose.
  const char* const path = secure_getenv("SLUICE_LLVM_PLUGIN");
  absl::StatusOr<runtime::SharedLibrary> library =
      path != nullptr ? runtime::SharedLibrary::open(path)
                      : runtime::SharedLibrary::open_beside(SLUICE_LLVM_PLUGIN_NAME);
  if (!library.ok()) return absl::UnavailableError(library.status().message());
  decltype(&sluice_llvm_generator) exported = nullptr;
  library->find("sluice_llvm_generator", &exported);
  // LLVM does not survive being unloaded.
  library->keep();
  if (exported == nullptr) return absl::UnavailableError(library->status().message());
  const Generator* const generator = exported([] {});
  if (std::strcmp(generator->fingerprint, fingerprint()) != 0) {
    return absl::UnavailableError(absl::StrCat(path != nullptr ? path : SLUICE_LLVM_PLUGIN_NAME,
                                               " is of another build of sluice"));
  }
  return generator;
}

}  // namespace

absl::StatusOr<const Generator*> find_generator() {
  static const auto& generator = *new absl::StatusOr<const Generator*>(load());
  return generator;
}

}  // namespace sluice::kernels
