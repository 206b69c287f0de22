#include "kernels/cuda/library/products/cublaslt.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/library_paths.h"
#include "runtime/shared_library.h"

namespace sluice::kernels::cuda {
namespace {

constexpr int kOldestMajor = 12, kNewestMajor = 13;

absl::StatusOr<const CublasLt*> find(int driver_major) {
  const std::string named = environment_variable("SLUICE_CUBLASLT");
  if (named == "off") {
    return absl::FailedPreconditionError("SLUICE_CUBLASLT says that cuBLASLt is not to be used");
  }
  std::vector<std::string> candidates = {named};
  if (named.empty()) {
    std::vector<std::string> names;
    for (int major = std::min(driver_major, kNewestMajor); major >= kOldestMajor; --major) {
      names.push_back(absl::StrCat("libcublasLt.so.", major));
    }
    candidates = library_candidates(names, "{cu13,cublas}/lib");
  }
  absl::Status why = absl::OkStatus();
  for (const std::string& library : candidates) {
    const absl::StatusOr<CublasLt> table = load_cublaslt(library);
    if (table.ok()) return new CublasLt(*table);
    why = table.status();
  }
  if (!named.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the library that SLUICE_CUBLASLT names cannot be used: ", std::string(why.message())));
  }
  return absl::FailedPreconditionError(
      "libcublasLt.so was not found (install a CUDA toolkit or the Python package "
      "nvidia-cublas-cu12, or set SLUICE_CUBLASLT to the library's path)");
}

}  // namespace

absl::StatusOr<const CublasLt*> find_cublaslt(int driver_version) {
  return found_once<find>(driver_version);
}

absl::StatusOr<CublasLt> load_cublaslt(const std::string& name) {
  absl::StatusOr<runtime::SharedLibrary> library = runtime::SharedLibrary::open(name);
  if (!library.ok()) return library.status();
  CublasLt table;
#define SLUICE_CUBLASLT_CALL(result, name, symbol, ...) library->find(#symbol, &table.name);
#include "kernels/cuda/library/products/cublaslt.def"
#undef SLUICE_CUBLASLT_CALL
  if (!library->status().ok()) return library->status();
  library->keep();
  return table;
}

}  // namespace sluice::kernels::cuda
