#include "kernels/cuda/library/factor/cusolver.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/library_paths.h"
#include "runtime/shared_library.h"

namespace sluice::kernels::cuda {
namespace {

constexpr int kOldestMajor = 12, kNewestMajor = 13;
constexpr int kMajorsBehind = 1;  // libcusolver.so.11 is CUDA 12's

absl::StatusOr<const Cusolver*> search_cusolver(int driver_major) {
  const std::string named = environment_variable("SLUICE_CUSOLVER");
  if (named == "off") {
    return absl::FailedPreconditionError("SLUICE_CUSOLVER says that cuSOLVER is not to be used");
  }
  std::vector<std::string> candidates = {named};
  if (named.empty()) {
    std::vector<std::string> names;
    for (int major = std::min(driver_major, kNewestMajor); major >= kOldestMajor; --major) {
      names.push_back(absl::StrCat("libcusolver.so.", major - kMajorsBehind));
    }
    candidates = library_candidates(names, "{cu13,cusolver}/lib");
  }
  absl::Status why = absl::OkStatus();
  for (const std::string& library : candidates) {
    const absl::StatusOr<Cusolver> table = load_cusolver(library);
    if (table.ok()) return new Cusolver(*table);
    why = table.status();
  }
  if (!named.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the library that SLUICE_CUSOLVER names cannot be used: ", std::string(why.message())));
  }
  return absl::FailedPreconditionError(
      "libcusolver.so was not found (install a CUDA toolkit or the Python package "
      "nvidia-cusolver-cu12, or set SLUICE_CUSOLVER to the library's path)");
}

}  // namespace

absl::StatusOr<const Cusolver*> find_cusolver(int driver_version) {
  return found_once<search_cusolver>(driver_version);
}

absl::StatusOr<Cusolver> load_cusolver(const std::string& name) {
  absl::StatusOr<runtime::SharedLibrary> library = runtime::SharedLibrary::open(name);
  if (!library.ok()) return library.status();
  Cusolver table;
#define SLUICE_CUSOLVER_CALL(result, name, symbol, ...) library->find(#symbol, &table.name);
#define SLUICE_CUSOLVER_ROUTINE(name, ...)             \
  library->find("cusolverDnS" #name, &table.f32.name); \
  library->find("cusolverDnD" #name, &table.f64.name);
#include "kernels/cuda/library/factor/cusolver.def"
  if (!library->status().ok()) return library->status();
  library->keep();
  return table;
}

}  // namespace sluice::kernels::cuda
